package sim

import (
	"shedload/internal/population"
	"shedload/internal/work"
)

// resumes remembers the operations of requests whose retries join what is
// pending, as a server does by Idempotency-Key.
type resumes struct{ byRequest map[uint64]*operation }

type operation struct {
	unit   uint64
	last   population.Attempt // the try that waits for the answer
	ended  bool
	result work.Result
}

func newResumes() *resumes { return &resumes{map[uint64]*operation{}} }

func (r *resumes) start(unit uint64, a population.Attempt) {
	r.byRequest[a.Request] = &operation{unit: unit, last: a}
}

// join lets a wait for its request's operation: a pending one gets its later
// deadline, one that has ended is answered again. False means that there is none.
func (r *resumes) join(s *simulation, a population.Attempt) bool {
	op, ok := r.byRequest[a.Request]
	if !ok || !a.Resume {
		return false
	}
	op.last = a
	if op.ended {
		s.replies = append(s.replies, reply{work.Unit{ID: op.unit, Request: a.Request}, op.result})
	} else {
		s.station.Extend(op.unit, a.Deadline)
	}
	return true
}

// ended returns the try to which the end of a unit is the answer.
func (r *resumes) ended(u work.Unit, result work.Result) population.Attempt {
	op, ok := r.byRequest[u.Request]
	if !ok || op.unit != u.ID {
		return population.Attempt{} // superseded: nobody waits
	}
	op.ended, op.result = true, result
	return op.last
}

// leaves remembers the last unit of each call, for clients that take their work
// with them when their patience is over.
type leaves struct{ byCall []sent }

type sent struct {
	unit     uint64
	deadline work.Instant
}

func (l *leaves) sent(call uint32, unit uint64, deadline work.Instant) {
	for int(call) >= len(l.byCall) {
		l.byCall = append(l.byCall, sent{})
	}
	l.byCall[call] = sent{unit, deadline}
}

// over returns the unit of a call whose patience ends now; 0 when the timer is of
// an earlier attempt.
func (l *leaves) over(call uint32, now work.Instant) uint64 {
	if s := l.byCall[call]; s.deadline == now {
		return s.unit
	}
	return 0
}
