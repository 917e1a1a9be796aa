package ledger

import (
	"time"

	"shedload/internal/work"
)

// Kind says what happened.
type Kind uint8

// The server's view of an attempt. On its way it is in exactly one of three
// places: at the door (Arrived), on the queue (Queued), in service (Started).
const (
	Arrived  Kind = iota + 1 // it reached the server and is at the door
	Carried                  // like Arrived, for one that was pending before this ledger began: not offered load
	Queued                   // it left the door for the queue; Took = wait at the door
	Refused                  // turned away at the door; Reason; time to no = At - Unit.Enqueued
	Dropped                  // taken off the queue (or, with Door, off the wait at the door) without work; Reason; time to no as above
	Started                  // it left the queue for a worker; queue wait = At - Unit.Enqueued
	Finished                 // Took = work time; on time if At <= Unit.Deadline, else late
	Broke                    // the worker reported a failure; Took = work time
	Lost                     // leased, never reported
	Canceled                 // its client left while it was queued (or, with Door, while it waited at the door)
	Stale                    // a report after Lost; Took = work time, all wasted; not an end
	Sampled                  // gauges at a row's end: At = that whole second, Took = oldest age in the queue, Busy workers
)

// The client's view.
const (
	Wished   Kind = iota + 16 // a new request exists; At = its intended instant
	Sent                      // an attempt left; At = actual instant, Took = lateness (actual - intended)
	Missed                    // an attempt never left; At = its intended instant
	Resumed                   // a retry joined its request's pending operation
	Answered                  // an attempt is over for its client; Outcome, Reason; Took = At - intended instant of the attempt
	Ended                     // a request is over; End, Start, Unit.Attempt = tries, resumes included; Took = At - Start
)

// End is how a request ended.
type End uint8

// The ends.
const (
	EndSucceeded      End = iota + 1 // an attempt was answered in time
	EndGaveUpAttempts                // attempts are used up
	EndGaveUpGate                    // a gate refused the retry
	EndThrottled                     // a gate refused the first attempt: none was ever sent
	EndUnfinished                    // the run ended first
	NumEnds           = iota + 1
)

var endNames = [NumEnds]string{"", "succeeded", "gave_up_attempts", "gave_up_gate", "throttled", "unfinished"}

// String returns the text form.
func (e End) String() string { return endNames[e] }

// Event is one thing that happened: a plain value that is handed to
// [Ledger.Record]. Fields that its Kind does not name are ignored.
type Event struct {
	At    work.Instant  // when
	Start work.Instant  // Ended: the intended instant of the request's first attempt
	Took  time.Duration // see Kind
	Unit  work.Unit
	Busy  uint32 // Sampled: workers at work
	Kind  Kind
	// Reason of a Refused, Dropped or Answered.
	Reason  work.Reason
	Outcome work.Outcome // Answered
	End     End          // Ended
	// Door marks a Dropped or Canceled unit that was still waiting at the door
	// and so never was on the queue.
	Door bool
}
