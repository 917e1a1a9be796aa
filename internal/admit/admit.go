// Package admit decides at the door: whether an attempt that has just arrived may
// join the queue. A policy only answers. It holds no permits: what is in flight
// is counted by the driver and handed in as a Load, so no race can lose a slot.
package admit

import (
	"time"

	"shedload/internal/work"
)

// Load is the state of the server at one instant, without the unit in question.
type Load struct {
	// Queued, InService and Door count the units on the queue, with a worker, and
	// waiting at the door.
	Queued, InService, Door int
	// Workers is the number of workers, 0 if it is not known yet.
	Workers int
	// PerClass counts queued plus in service by class; nil means that there are none.
	PerClass []int
	// Service is the mean service time of late, 0 if it is not known yet.
	Service time.Duration
}

// InFlight returns queued plus in service.
func (l Load) InFlight() int { return l.Queued + l.InService }

// Verdict is the answer at the door. The zero Verdict admits.
type Verdict struct {
	// Reason refuses the unit, unless it is work.None.
	Reason work.Reason
	// RetryAfter and DoNotRetry go with a refusal.
	RetryAfter time.Duration
	DoNotRetry bool
	// WaitUntil, when not 0, puts the refusal off: until then the unit may wait at
	// the door, and the driver asks again whenever a unit leaves the server,
	// longest waiting first. However often a policy is asked about a unit, it
	// names the same instant; from then on it refuses without it.
	WaitUntil work.Instant
}

// Admitted reports whether the unit may join the queue now.
func (v Verdict) Admitted() bool { return v.Reason == work.None }

// Policy is a door. Policies are not safe for concurrent use.
type Policy interface {
	// Admit judges u at now. u.Enqueued is its arrival, also when it is asked about again.
	Admit(u work.Unit, l Load, now work.Instant) Verdict
}

// SampleOutcome is what became of an admitted unit.
type SampleOutcome uint8

// The outcomes. The third keeps what says nothing about the load, such as a
// fast failure or a client that left, from looking like a fast answer.
const (
	// OK: finished in time.
	OK SampleOutcome = iota
	// Dropped: finished late, or taken off the queue because it could not finish.
	Dropped
	// Ignored: neither.
	Ignored
)

// Sample is one admitted unit that has ended.
type Sample struct {
	// Latency is the time from its arrival to its end.
	Latency time.Duration
	// InFlight is queued plus in service when it ended, itself included.
	InFlight int
	Outcome  SampleOutcome
}

// Learner is a Policy that adapts to what became of the units it admitted.
type Learner interface {
	// Learn takes in a unit that ended at now.
	Learn(s Sample, now work.Instant)
}

// Limiter is a Policy with a limit to show.
type Limiter interface {
	// Limit returns the limit in force, 0 before the first decision.
	Limit(now work.Instant) int
}
