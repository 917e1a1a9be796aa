package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"shedload/internal/work"
)

// ByReason counts per reason. Its JSON form is an object of the counts that are not 0.
type ByReason [work.NumReasons]int64

// Sum returns the count over all reasons.
func (b *ByReason) Sum() int64 {
	var sum int64
	for _, n := range b {
		sum += n
	}
	return sum
}

// MarshalJSON writes the counts that are not 0.
func (b ByReason) MarshalJSON() ([]byte, error) {
	counts := make(map[string]int64)
	for i, n := range b {
		if n != 0 {
			counts[work.Reason(i).String()] = n
		}
	}
	return json.Marshal(counts)
}

// UnmarshalJSON reads what MarshalJSON writes; an unknown reason is an error.
func (b *ByReason) UnmarshalJSON(text []byte) error {
	var counts map[work.Reason]int64
	if err := json.Unmarshal(text, &counts); err != nil {
		return fmt.Errorf("counts by reason: %w", err)
	}
	*b = ByReason{}
	for r, n := range counts {
		b[r] = n
	}
	return nil
}

// ServerTotals is what the server saw since the ledger began.
type ServerTotals struct {
	Arrived  int64         `json:"arrived"`           // attempts, Carried ones included
	First    int64         `json:"first"`             // of those offered, first attempts of their request
	Carried  int64         `json:"carried,omitempty"` // pending from before
	Queued   int64         `json:"queued"`
	Started  int64         `json:"started"`
	OnTime   int64         `json:"on_time"`
	Late     int64         `json:"late"`
	Failed   int64         `json:"failed"`
	Canceled int64         `json:"canceled"`
	Lost     int64         `json:"lost"`
	Stale    int64         `json:"stale"`
	Refused  ByReason      `json:"refused"`
	Dropped  ByReason      `json:"dropped"`
	Work     time.Duration `json:"work_ns"`   // all work that was reported
	Wasted   time.Duration `json:"wasted_ns"` // of that, late, failed and stale
}

// Done returns the attempts that have ended.
func (t *ServerTotals) Done() int64 {
	return t.Refused.Sum() + t.Dropped.Sum() + t.OnTime + t.Late + t.Failed + t.Canceled + t.Lost
}

// Pending returns the attempts that arrived and have not ended.
func (t *ServerTotals) Pending() int64 { return t.Arrived - t.Done() }

// Finished returns the units that were worked on to the end: on time and late.
func (t *ServerTotals) Finished() int64 { return t.OnTime + t.Late }

// ClientTotals is what the clients saw since the ledger began.
type ClientTotals struct {
	Requests  int64                   `json:"requests"`
	Sent      int64                   `json:"sent"`       // attempts that left
	SentFirst int64                   `json:"sent_first"` // of those, first attempts
	LateSends int64                   `json:"late_sends"` // of those, more than MissedAfter behind their intended instant
	Missed    int64                   `json:"missed"`     // attempts that never left
	Resumed   int64                   `json:"resumed"`
	Answered  [work.NumOutcomes]int64 `json:"answered"` // by outcome
	Ended     [NumEnds]int64          `json:"ended"`    // requests by end; Unfinished() is the truth about those that have none
	Tries     int64                   `json:"tries"`    // attempts and resumes of the requests that ended
}

// Unfinished returns the requests that have not ended.
func (t *ClientTotals) Unfinished() int64 {
	return t.Requests - t.Ended[EndSucceeded] - t.Ended[EndGaveUpAttempts] - t.Ended[EndGaveUpGate] - t.Ended[EndThrottled]
}

// Totals are both views since the ledger began, of all classes or of one.
type Totals struct {
	ServerTotals
	ClientTotals
}
