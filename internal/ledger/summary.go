package ledger

import "time"

// MissedAfter is the lateness beyond which a send counts as missed.
const MissedAfter = 100 * time.Millisecond

// MissedShare is the share of sends that may be missed in a delivered run.
const MissedShare = 0.001

// Meta is what a driver knows about a run and the events do not say.
type Meta struct {
	Scenario string
	Variant  string
	Engine   string // live or sim
	Partial  bool   // interrupted, or the server changed under it
	// ClientOnly marks a run against a service that has no ledger (wait: plain).
	ClientOnly bool
	// Horizon is the length of the run; of an interrupted one, as far as it came.
	Horizon time.Duration
	Warmup  time.Duration
	// Verdict holds patience and trigger, and what differs from the defaults.
	Verdict VerdictConfig
	// InFlight counts the exchanges under way at the horizon: the client and the
	// server may disagree about so many attempts.
	InFlight int64
	// Held is the driver's own count of what is at the door, queued and in
	// service at the end, compared with Pending; nil takes the one a snapshot brought, if any.
	Held *int64
	// ClientErrors names the causes of outcomes client_error; nil means unnamed.
	ClientErrors map[string]int64
}

// Summary is a run in numbers: one element of variants in summary.json. All
// numbers are finite; a share or a mean of nothing is 0.
type Summary struct {
	Scenario      string                  `json:"scenario"`
	Variant       string                  `json:"variant"`
	Engine        string                  `json:"engine"`
	Partial       bool                    `json:"partial"`
	View          string                  `json:"view"` // both, or client when there is no server's view
	HorizonS      float64                 `json:"horizon_s"`
	WarmupS       float64                 `json:"warmup_s"`
	Requests      Requests                `json:"requests"`
	Attempts      Attempts                `json:"attempts"`
	Resumes       int64                   `json:"resumes"`
	ClientErrors  map[string]int64        `json:"client_errors"`
	Throughput    int64                   `json:"throughput"`     // units finished over the whole run
	Goodput       int64                   `json:"goodput"`        // of those, at or before their deadline
	GoodputClient int64                   `json:"goodput_client"` // answers received within patience
	ThroughputPS  float64                 `json:"throughput_per_s"`
	GoodputPS     float64                 `json:"goodput_per_s"`
	GoodputClPS   float64                 `json:"goodput_client_per_s"`
	GoodputShare  float64                 `json:"goodput_share"` // goodput / throughput; 0 when nothing finished, as without a server's view
	Amplification float64                 `json:"amplification"` // attempts / requests; 0 without requests
	WorkS         float64                 `json:"work_s"`
	WastedWorkS   float64                 `json:"wasted_work_s"`
	WastedShare   float64                 `json:"wasted_share"` // wasted / all work
	Peak          Peak                    `json:"peak"`
	LatencyMS     Latencies               `json:"latency_ms"`
	Classes       map[string]ClassSummary `json:"classes"`
	Windows       []Window                `json:"windows"`
	Recovery      Recovery                `json:"recovery"`
	Generator     Generator               `json:"generator"`
	Conservation  Conservation            `json:"conservation"`
}

// Requests counts requests by their end; the parts sum to Total.
type Requests struct {
	Total      int64 `json:"total"`
	Succeeded  int64 `json:"succeeded"`
	GaveUp     int64 `json:"gave_up"`
	GaveUpGate int64 `json:"gave_up_gate"` // of those, because a gate refused the retry
	Throttled  int64 `json:"throttled"`
	Unfinished int64 `json:"unfinished"`
}

// Attempts counts attempts by their end on the server; the parts sum to Total.
// Without a server's view it is what clients saw: OnTime succeeded, Failed
// includes client errors, Unfinished includes time-outs.
type Attempts struct {
	Total        int64            `json:"total"`
	OnTime       int64            `json:"on_time"`
	Late         int64            `json:"late"`
	Refused      map[string]int64 `json:"refused"` // every refusal reason, also those with 0
	RefusedTotal int64            `json:"refused_total"`
	Dropped      map[string]int64 `json:"dropped"` // every drop reason, also those with 0
	DroppedTotal int64            `json:"dropped_total"`
	Failed       int64            `json:"failed"`
	Canceled     int64            `json:"canceled"`
	Lost         int64            `json:"lost"`
	Unfinished   int64            `json:"unfinished"`
}

// Peak holds the largest values of a run.
type Peak struct {
	// Queue is the longest queue that lasted: units that were queued and taken at
	// one and the same instant do not count.
	Queue       int64 `json:"queue"`
	OfferedPerS int64 `json:"offered_per_s"`
}

// Quantiles summarise a histogram, in milliseconds; 0 when it is empty.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Latencies of a run, in milliseconds.
type Latencies struct {
	Served   Quantiles `json:"served"`    // arrival to finish, on time or late
	ShedWait Quantiles `json:"shed_wait"` // arrival to refusal or drop: the time to no
	ToldNo   Quantiles `json:"told_no"`   // intended start of an attempt to the no that its client was told
	Request  Quantiles `json:"request"`   // intended start of a request to success
}

// ClassSummary is the part of a run that belongs to one class.
type ClassSummary struct {
	Requests Requests `json:"requests"`
	Attempts Attempts `json:"attempts"`
}

// Window is a named span: requests by their intended start, or (Completed) units by their finish.
type Window struct {
	Name            string                 `json:"name"`
	FromS           float64                `json:"from_s"`
	ToS             float64                `json:"to_s"`
	Requests        int64                  `json:"requests"`
	Succeeded       int64                  `json:"succeeded"`
	TriesPerRequest float64                `json:"tries_per_request"`
	Classes         map[string]WindowClass `json:"classes"`
	Completed       Completed              `json:"completed"`
}

// WindowClass is the part of a window that belongs to one class.
type WindowClass struct {
	Requests        int64   `json:"requests"`
	Succeeded       int64   `json:"succeeded"`
	TriesPerRequest float64 `json:"tries_per_request"`
}

// Completed describes the units that finished in a window.
type Completed struct {
	OnTime    int64     `json:"on_time"`
	Late      int64     `json:"late"`
	SojournMS Quantiles `json:"sojourn_ms"`
}

// Generator says whether the load was really delivered.
type Generator struct {
	LatenessMS Quantiles `json:"lateness_ms"`
	Sends      int64     `json:"sends"`  // attempts that left or should have
	Missed     int64     `json:"missed"` // of those, later than MissedAfter, or never
	Delivered  bool      `json:"delivered"`
}

// Conservation says whether the sums add up.
type Conservation struct {
	OK bool `json:"ok"`
	// ClientServerGap counts the attempts about which client and server disagree;
	// at most InFlight may be.
	ClientServerGap int64 `json:"client_server_gap"`
	InFlight        int64 `json:"in_flight"`
	Pending         int64 `json:"pending"`
	// Held is the driver's own count of pending attempts; -1 if it gave none.
	Held int64 `json:"held"`
}
