package api

import (
	"crypto/sha256"
	"net/http"

	"shedload/internal/work"
)

// key is the first half of a SHA-256, of an Idempotency-Key or of a body.
type key [16]byte

// keyed is what an operation with an Idempotency-Key remembers.
type keyed struct{ key, body key }

func hashKey(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:len(key{})])
}

func (s *Server) bindLocked(id uint64, text string, body key) {
	k := keyed{hashKey(text), body}
	s.ops.keys[k.key], s.ops.keyed[id] = id, k
}

// joinLocked finds the operation that a key leads to: a pending one is joined (a
// resume, which may bring a later deadline), one that ended is answered again.
// False means that a new operation is due: the key is new, or its operation
// ended without a result and this is a later attempt of the request.
func (s *Server) joinLocked(a attempt, body key, now work.Instant) (started, bool) {
	id, ok := s.ops.keys[hashKey(a.key)]
	if !ok {
		return started{}, false
	}
	if s.ops.keyed[id].body != body {
		return started{status: http.StatusUnprocessableEntity}, true
	}
	rec := s.ops.records[id]
	silent := s.silentLocked(&rec)
	if rec.place == failed && !silent && a.attempt > rec.attempt {
		return started{}, false
	}
	st := started{id: id, rec: rec, instant: now, grace: s.leaveGraceLocked()}
	if !rec.pending() && !silent {
		st.ended, st.result = true, s.resultLocked(&rec)
		return st, true
	}
	s.counts.Resumed++
	if rec.pending() && a.deadline > rec.deadline {
		rec.deadline = a.deadline
		s.ops.records[id] = rec
		s.station.Extend(id, a.deadline)
		st.rec = rec
	}
	if a.wait > 0 {
		st.waiter = s.waitLocked(id)
		st.waiter.abandons = true
	}
	return st, true
}

// silentLocked reports whether the operation's end is kept from its client.
func (s *Server) silentLocked(rec *record) bool {
	return s.policy.silentDrops && !s.closing && rec.place == failed && rec.reason.Drop() && s.now < rec.deadline
}

// resultLocked is what the client of an operation that has ended is told.
func (s *Server) resultLocked(rec *record) work.Result {
	switch c := s.station.Config(); {
	case rec.place == done:
		return work.Result{Outcome: work.Succeeded}
	case rec.reason.Refusal():
		return work.Result{Outcome: work.Refused, Reason: rec.reason, RetryAfter: c.RetryAfter, DoNotRetry: c.DoNotRetry}
	case rec.reason.Drop():
		return work.Result{Outcome: work.Dropped, Reason: rec.reason, RetryAfter: c.RetryAfter, DoNotRetry: c.DoNotRetry}
	case rec.reason == work.None:
		return work.Result{}
	default:
		return work.Result{Outcome: work.Failed, Reason: rec.reason}
	}
}
