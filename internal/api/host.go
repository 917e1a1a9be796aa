package api

import (
	"shedload/internal/ledger"
	"shedload/internal/work"
)

// host is what the station sees of the server.
type host struct{ *Server }

// Ended implements station.Host.
func (h host) Ended(u work.Unit, r work.Result) {
	if u.ID == h.arriving.id {
		h.arriving.ended, h.arriving.result = true, r
		return
	}
	rec := h.ops.records[u.ID]
	rec.end(r, h.now)
	h.ops.retain(u.ID, rec)
	if !h.silentLocked(&rec) {
		h.wakeLocked(u.ID, rec, r)
	}
}

// record passes an event of the station on, and keeps the operation's place.
func (s *Server) record(e ledger.Event) {
	s.run.record(e)
	if s.config.Observe != nil {
		s.config.Observe(e)
	}
	if e.Kind != ledger.Queued {
		return
	}
	if e.Unit.ID == s.arriving.id {
		s.arriving.place = queued
		return
	}
	rec := s.ops.records[e.Unit.ID]
	rec.place = queued
	s.ops.records[e.Unit.ID] = rec
}
