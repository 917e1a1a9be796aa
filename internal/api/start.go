package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

const operationsPath = "/v1/operations"

// arrival is the operation that is just being handed to the station. It is not
// in the store before the door has let it in, so that a refusal leaves nothing behind.
type arrival struct {
	id     uint64
	place  place
	ended  bool
	result work.Result
}

// started is what became of a start under the lock.
type started struct {
	id      uint64
	rec     record
	result  work.Result
	ended   bool // rec and result say how
	status  int  // not 0: a conflict of keys
	waiter  *waiter
	instant work.Instant
	grace   time.Duration // see leaveGrace
}

// start answers POST /v1/operations.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	now := s.clock()
	a, err := s.parse(r.Header, now)
	if err != nil {
		s.malformed(w, a, http.StatusBadRequest, err.Error())
		return
	}
	body, err := s.readBody(r, a.key != "")
	if err != nil {
		s.malformed(w, a, bodyStatus(err), err.Error())
		return
	}
	st := s.arrive(a, body, now)
	switch {
	case st.status != 0:
		s.problem(w, st.status, headerKey+": it was used with another body")
	case st.ended:
		s.answerEnd(w, st.id, &st.rec, st.result)
	case st.waiter == nil:
		s.answerState(w, http.StatusAccepted, st.id, &st.rec, st.instant)
	default:
		s.answerWaiting(w, r, a, st)
	}
}

// answerWaiting holds the answer back until the operation has ended, or to the
// earlier of wait and deadline.
func (s *Server) answerWaiting(w http.ResponseWriter, r *http.Request, a attempt, st started) {
	until := min(st.instant.Add(a.wait), a.deadline)
	if until == a.deadline {
		until = until.Add(st.grace)
	}
	switch s.await(r.Context(), st.id, st.waiter, until.Sub(st.instant)) {
	case told:
		s.answerEnd(w, st.id, &st.waiter.rec, st.waiter.result)
	case inTime:
		s.answerState(w, http.StatusAccepted, st.id, &st.waiter.rec, until)
	case gone: // nobody is left to answer
	}
	s.pools.waiters.Put(st.waiter)
}

// arrive brings the operation to the door.
func (s *Server) arrive(a attempt, body key, now work.Instant) started {
	now = s.lock(now)
	defer s.unlock()
	if a.key != "" {
		if st, joined := s.joinLocked(a, body, now); joined {
			return st
		}
	}
	s.sequence++
	st := started{id: s.sequence, instant: now, grace: s.leaveGraceLocked()}
	st.rec = record{request: a.request, arrived: now, deadline: a.deadline, attempt: a.attempt, class: a.class}
	if !a.named {
		st.rec.request = st.id
	}
	if s.closing {
		st.ended, st.result = true, s.turnAwayLocked(st.rec.unit(st.id), work.ShuttingDown)
		st.rec.end(st.result, now)
		return st
	}
	s.arriving = arrival{id: st.id}
	s.station.Arrive(st.rec.unit(st.id), now)
	ended, result := s.arriving.ended, s.arriving.result
	st.rec.place = s.arriving.place
	s.arriving = arrival{}
	if ended {
		st.rec.end(result, now)
		st.ended, st.result = true, result
		return st
	}
	s.admitLocked(a, body, &st)
	return st
}

// admitLocked stores an operation that the door let in.
func (s *Server) admitLocked(a attempt, body key, st *started) {
	s.ops.records[st.id] = st.rec
	if a.key != "" {
		s.bindLocked(st.id, a.key, body)
	}
	if a.wait > 0 {
		st.waiter = s.waitLocked(st.id)
		st.waiter.abandons = true
	}
}

// turnAwayLocked refuses what never reaches the station's door.
func (s *Server) turnAwayLocked(u work.Unit, reason work.Reason) work.Result {
	s.record(ledger.Event{At: s.now, Kind: ledger.Arrived, Unit: u})
	s.record(ledger.Event{At: s.now, Kind: ledger.Refused, Unit: u, Reason: reason})
	return s.resultLocked(&record{place: failed, reason: reason})
}

// malformed refuses an attempt that could not be understood. It counts like any
// other refusal: its client has sent it.
func (s *Server) malformed(w http.ResponseWriter, a attempt, status int, detail string) {
	now := s.lock(s.clock())
	s.sequence++
	s.turnAwayLocked(work.Unit{
		ID: s.sequence, Request: a.request, Enqueued: now, Deadline: work.Never, Attempt: a.attempt, Class: a.class,
	}, work.Malformed)
	s.unlock()
	s.problemReason(w, status, work.Malformed, detail)
}

var errTooLarge = errors.New("too large")

// readBody reads the body away, as the work does not look at it. Its hash is
// needed only to tell whether a key comes with the same body again.
func (s *Server) readBody(r *http.Request, hashed bool) (key, error) {
	limit := s.config.MaxBody
	if r.ContentLength > limit {
		return key{}, fmt.Errorf("body: %d bytes: %w: allowed are up to %d", r.ContentLength, errTooLarge, limit)
	}
	var sum hash.Hash
	var into io.Writer = io.Discard
	if hashed {
		sum = sha256.New()
		into = sum
	}
	if r.ContentLength != 0 {
		n, err := io.Copy(into, io.LimitReader(r.Body, limit+1))
		switch {
		case err != nil:
			return key{}, fmt.Errorf("body: %w", err)
		case n > limit:
			return key{}, fmt.Errorf("body: %w: allowed are up to %d bytes", errTooLarge, limit)
		}
	}
	if !hashed {
		return key{}, nil
	}
	return key(sum.Sum(nil)[:len(key{})]), nil
}

func bodyStatus(err error) int {
	if errors.Is(err, errTooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
