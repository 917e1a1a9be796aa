package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"shedload/internal/work"
)

// public routes the clients' calls. It is written by hand because it is on the
// path of every attempt, and so that every refusal is a problem document.
func (s *Server) public(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, operationsPath)
	switch {
	case ok && rest == "":
		if s.allow(w, r, http.MethodPost) {
			s.start(w, r)
		}
	case ok && len(rest) > 1 && rest[0] == '/' && strings.IndexByte(rest[1:], '/') < 0:
		if s.allow(w, r, http.MethodGet, http.MethodDelete) {
			s.existing(w, r, rest[1:])
		}
	default:
		s.problem(w, http.StatusNotFound, "there is nothing at this path: operations are at "+operationsPath)
	}
}

// allow answers requests with another method than the allowed ones.
func (s *Server) allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header()["Allow"] = []string{strings.Join(methods, ", ")}
	s.problem(w, http.StatusMethodNotAllowed, "allowed here: "+strings.Join(methods, ", "))
	return false
}

// existing answers GET and DELETE of /v1/operations/{id}.
func (s *Server) existing(w http.ResponseWriter, r *http.Request, name string) {
	id, ok := s.ids.parse(operationID, name)
	if !ok {
		s.problem(w, http.StatusNotFound, "no such operation")
		return
	}
	if r.Method == http.MethodDelete {
		s.remove(w, id)
		return
	}
	wait, err := parsePrefer(r.Header[headerPrefer])
	if err != nil {
		s.problem(w, http.StatusBadRequest, err.Error())
		return
	}
	s.show(w, r, id, wait)
}

// show answers with the operation's state, or holds the answer for up to wait
// while that is pending. A client that leaves here does not leave the operation:
// long polls come and go.
func (s *Server) show(w http.ResponseWriter, r *http.Request, id uint64, wait time.Duration) {
	rec, waiter, now, ok := s.look(id, wait)
	if !ok {
		s.problem(w, http.StatusNotFound, "no such operation, or it ended longer ago than it is kept")
		return
	}
	if waiter != nil {
		if s.await(r.Context(), id, waiter, wait) == gone {
			s.pools.waiters.Put(waiter)
			return
		}
		rec, now = s.visible(waiter.rec), s.clock()
		s.pools.waiters.Put(waiter)
	}
	s.answerState(w, http.StatusOK, id, &rec, now)
}

// look finds an operation as its client may see it, and registers a wait if it is pending.
func (s *Server) look(id uint64, wait time.Duration) (record, *waiter, work.Instant, bool) {
	now := s.lock(s.clock())
	defer s.unlock()
	rec, ok := s.ops.records[id]
	if !ok {
		return rec, nil, now, false
	}
	rec = s.visibleLocked(rec)
	if !rec.pending() || wait <= 0 || s.closing {
		return rec, nil, now, true
	}
	return rec, s.waitLocked(id), now, true
}

func (s *Server) visible(rec record) record {
	s.lock(s.clock())
	defer s.unlock()
	return s.visibleLocked(rec)
}

// visibleLocked hides a silent drop.
func (s *Server) visibleLocked(rec record) record {
	if s.silentLocked(&rec) {
		rec.place, rec.reason = queued, work.None
	}
	return rec
}

// remove answers DELETE: the client leaves.
func (s *Server) remove(w http.ResponseWriter, id uint64) {
	now := s.lock(s.clock())
	_, known := s.ops.records[id]
	if known && s.policy.cancelAbandoned {
		s.station.Leave(id, now)
	}
	s.unlock()
	if !known {
		s.problem(w, http.StatusNotFound, "no such operation, or it ended longer ago than it is kept")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// appendJSONString writes text as a JSON string.
func appendJSONString(b []byte, text string) []byte {
	if plain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return append(b, quoted...)
}

// plain reports whether text needs no escaping: our own words do not.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
