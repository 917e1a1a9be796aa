package work

import (
	"fmt"
	"time"
)

// Reason says why an attempt was not answered with a result. The zero Reason,
// None, means that nothing is wrong: a shed that returns it keeps the unit.
type Reason uint8

// The reasons. Those up to Malformed turn an attempt away at the door (refused),
// those from Expired to Closed take a unit off the queue without work (dropped),
// the rest end one that a worker had.
const (
	None Reason = iota

	QueueFull        // the queue limit is reached
	InSystem         // the limit on queued plus in service is reached
	Concurrency      // no slot became free within the bounded wait
	Priority         // the class's share of the door is used up
	Bulkhead         // the class's compartment is full
	Infeasible       // predicted wait plus service exceeds the time left
	Limit            // an adaptive limit is reached
	HardLimit        // the memory guard is reached
	ExpiredOnArrival // the deadline had passed when the attempt arrived
	ShuttingDown     // the server is stopping
	Malformed        // the attempt could not be understood

	Expired // the deadline had passed in the queue
	Doomed  // cannot finish before its deadline
	Codel   // CoDel's control law (RFC 8289)
	Sojourn // waited longer than controlled delay allows
	Evicted // pushed off the old end of a bounded queue
	Closed  // the run or the server ended

	Broken   // the worker reported a failure
	LostUnit // leased to a worker that never reported

	NumReasons = iota
)

var reasonNames = [NumReasons]string{
	"", "queue_full", "in_system", "concurrency", "priority", "bulkhead", "infeasible", "limit", "hard_limit",
	"expired_on_arrival", "shutting_down", "malformed",
	"expired", "doomed", "codel", "sojourn", "evicted", "closed",
	"broken", "lost",
}

// String returns the text form; "" for None.
func (r Reason) String() string { return reasonNames[r] }

// MarshalText returns the text form.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (r *Reason) UnmarshalText(text []byte) error {
	for i, name := range reasonNames {
		if name == string(text) {
			*r = Reason(i)
			return nil
		}
	}
	return fmt.Errorf("unknown reason %q", text)
}

// Refusal reports whether r turns an attempt away before the queue.
func (r Reason) Refusal() bool { return r >= QueueFull && r <= Malformed }

// Drop reports whether r takes a unit off the queue without working on it.
func (r Reason) Drop() bool { return r >= Expired && r <= Closed }

// Outcome is how an attempt ended for the client that made it.
type Outcome uint8

// The outcomes.
const (
	Succeeded   Outcome = iota + 1 // answered within patience
	TimedOut                       // patience ended first
	Refused                        // turned away at the door
	Dropped                        // taken off the queue, and told so
	Failed                         // the work failed or was lost
	ClientError                    // no answer: connection refused, reset, or unreadable
	NumOutcomes = iota + 1
)

var outcomeNames = [NumOutcomes]string{"", "succeeded", "timed_out", "refused", "dropped", "failed", "client_error"}

// String returns the text form.
func (o Outcome) String() string { return outcomeNames[o] }

// Result is a client's view of the end of one attempt.
type Result struct {
	Outcome Outcome
	Reason  Reason
	// RetryAfter is the server's wish to be left alone for this long; 0 when it has none.
	RetryAfter time.Duration
	// DoNotRetry is the server's wish not to be tried again for this request.
	DoNotRetry bool
}
