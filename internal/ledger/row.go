package ledger

import (
	"time"

	"shedload/internal/work"
)

const second = work.Instant(time.Second)

// ServerRow is one second of the server's view. Queue, InService, OldestAge and
// Busy are gauges at the second's end; all else counts events within it.
type ServerRow struct {
	Arrived    int64         `json:"arrived"`
	First      int64         `json:"first"` // of those, first attempts of their request
	Throughput int64         `json:"throughput"`
	Goodput    int64         `json:"goodput"` // server goodput: finished at or before the deadline
	Late       int64         `json:"late"`
	Refused    int64         `json:"refused"`
	Dropped    int64         `json:"dropped"`
	Failed     int64         `json:"failed"`
	Canceled   int64         `json:"canceled"`
	Lost       int64         `json:"lost"`
	Work       time.Duration `json:"work_ns"`
	Wasted     time.Duration `json:"wasted_ns"`
	Queue      int64         `json:"queue"`
	InService  int64         `json:"in_service"`
	OldestAge  time.Duration `json:"oldest_age_ns"`
	Busy       int64         `json:"busy"`
	Sampled    bool          `json:"sampled,omitempty"` // OldestAge and Busy are this row's own, not carried from an earlier one
}

// ClientRow is one second of the client's view, by the instant of the event;
// only FirstOK looks back.
type ClientRow struct {
	Requests      int64 `json:"requests"` // new requests
	Sent          int64 `json:"sent"`
	Resumed       int64 `json:"resumed"`
	Missed        int64 `json:"missed"`
	GoodputClient int64 `json:"goodput_client"` // answers within patience
	TimedOut      int64 `json:"timed_out"`
	ClientErrors  int64 `json:"client_errors"`
	Succeeded     int64 `json:"succeeded"` // requests that ended so in this second
	GaveUp        int64 `json:"gave_up"`
	Throttled     int64 `json:"throttled"`
	FirstOK       int64 `json:"first_ok"` // requests that STARTED in this second and succeeded on their first attempt
}

// Row is one second of a run.
type Row struct {
	T       int   `json:"t_s"`     // the second it covers is [T, T+1)
	Offered int64 `json:"offered"` // attempts: sent, or, in a ledger without a client's view, arrived
	ServerRow
	ClientRow
}

// Rows are consecutive seconds.
type Rows []Row
