package population

import "shedload/internal/work"

// Attempt is one try that a driver has to send: 48 bytes without pointers.
type Attempt struct {
	// Intended is when it is meant to leave, Deadline the last instant at which
	// its answer is on time.
	Intended, Deadline work.Instant
	Request            uint64
	// Call is the handle of the request's place in the group.
	Call uint32
	// Attempt counts the attempts of the request from 1. A resume has the number of
	// the attempt that it joins.
	Attempt uint16
	Client  uint16
	Class   uint8
	// Resume: join the request's pending operation instead of starting one.
	Resume bool
}

// TimerKind is what a timer is for. Events of one instant are ordered by it:
// time-outs, then retries, then new requests.
type TimerKind uint8

// The kinds of timers.
const (
	PatienceOver TimerKind = iota + 1
	RetryDue
	ThoughtOver
)

// Timer is a wake-up call that a group asked for. A driver hands it back as it is.
type Timer struct {
	Call, Gen uint32
	Kind      TimerKind
}

// Host is the driver. Both methods take note and return; they may call back into
// the group, which is in a consistent state when it calls them.
type Host interface {
	// Send has an attempt leave at a.Intended, which is now or was a moment ago.
	Send(a Attempt)
	// Wake has Group.Woke called with t at the instant at. Answers of the same
	// instant come first. A timer that was overtaken does no harm.
	Wake(at work.Instant, t Timer)
}

func (a Attempt) unit() work.Unit {
	return work.Unit{Request: a.Request, Deadline: a.Deadline, Attempt: a.Attempt, Class: a.Class}
}
