package api

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Shutdown stops admitting, answers all who wait, and drops what is queued as
// closed. Leased work has the grace (or until ctx ends) to be reported, and is
// lost after that. When it returns no operation is pending, all of it is in the
// ledger, and no handler waits any more: the listeners can be shut down. Run must
// still be running.
func (s *Server) Shutdown(ctx context.Context) {
	s.closeDoor()
	timer := time.NewTimer(s.config.Grace)
	defer timer.Stop()
	select {
	case <-s.idle:
	case <-timer.C:
	case <-ctx.Done():
	}
	now := s.lock(s.clock())
	lost := s.station.Load().InService
	s.station.CloseService(now)
	s.unlock()
	s.log.Info("server closed", zap.Int("lost_in_service", lost))
}

func (s *Server) closeDoor() {
	now := s.lock(s.clock())
	defer s.unlock()
	if s.closing {
		return
	}
	s.closing = true
	s.station.Close(now)
	for id := range s.waits { // those who were not to know of a drop
		if rec := s.ops.records[id]; !rec.pending() {
			s.wakeLocked(id, rec, s.resultLocked(&rec))
		}
	}
	for s.polls.first != nil {
		s.releaseLocked(s.polls.first)
	}
}

// signalIdleLocked tells Shutdown when the last leased unit has been reported.
func (s *Server) signalIdleLocked() {
	if s.station.Load().InService > 0 {
		return
	}
	select {
	case <-s.idle: // closed already
	default:
		close(s.idle)
	}
}
