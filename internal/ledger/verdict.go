package ledger

import "time"

// The numbers of the verdict. They belong together: if everything succeeds in
// time, goodput over five patiences is at least the new requests of all but the
// last patience, which is four fifths; so a healthy system is never called down.
const (
	windowUnits = 5    // a window, in units
	holdUnits   = 10   // how long a state must have lasted to be believed, in units
	fewRequests = 10   // a unit is long enough for so many good answers
	downBelow   = 0.80 // a window below it: down
	backAt      = 0.95 // a window at it: up again
	halfLevel   = 0.50 // below it, what stays down has collapsed; also what a sound baseline reaches
	gainOver    = 1.05 // more than what is asked for by so much: a backlog is being worked off
	noiseRoom   = 0.10 // what is asked for counts up to the baseline and this share of it
	oscillating = 2    // relapses from which on a service oscillates
)

// The verdicts.
const (
	Steady    = "steady"
	Recovered = "recovered"
	Collapsed = "collapsed"
	Degraded  = "degraded"
	Undecided = "undecided"
)

// Why a verdict is undecided.
const (
	WhyNoBaseline = "down_before" // the service was down before the trigger, or there is nothing to compare with
	WhyTooEarly   = "too_early"   // the run ended before the last change could be believed
	WhyWorkedOff  = "worked_off"  // a backlog is being worked off
)

// Span is a stretch of a run, [From, To).
type Span struct {
	Name string // what caused it, for sentences; "" reads as "the trigger"
	From time.Duration
	To   time.Duration
}

// VerdictConfig is what a verdict needs besides the rows. Zero values are the defaults.
type VerdictConfig struct {
	// Patience is the longest patience of all clients.
	Patience time.Duration `yaml:"-" json:"-"`
	// Trigger spans from the start of the first phase or fault to the end of the
	// last; an empty one means none. Rows that it touches belong to it.
	Trigger Span `yaml:"-" json:"-"`
	// NoServer marks rows without a server's view: no throughput, no queue.
	NoServer bool `yaml:"-" json:"-"`
	// Window replaces the length of a judged window; a state must last twice that.
	Window time.Duration `yaml:"window" json:"window_ns" doc:"length of a judged window; default: five times the longer of patience and the time that ten good answers take"`
	// Reference replaces the baseline, in good answers per second.
	Reference float64 `yaml:"reference" json:"reference" doc:"goodput per second to compare with; default: what it was before the trigger"`
	// Noise is the room above the baseline in what counts as asked for.
	Noise float64 `yaml:"noise" json:"noise" doc:"how far above the baseline new requests count as asked for, as a share; default 0.1"`
}

// Recovery is the verdict on a run, for goodput and for users.
type Recovery struct {
	Trigger       string   `json:"trigger"`       // what it was; "" without one
	TriggerEndS   *float64 `json:"trigger_end_s"` // null without one
	Verdict       string   `json:"verdict"`
	UsersVerdict  string   `json:"users_verdict"`
	GoodputAfterS *float64 `json:"goodput_after_s"` // N: seconds from the trigger's end to the return; null unless recovered from a trigger
	UsersAfterS   *float64 `json:"users_after_s"`
	// BaselinePerS is the goodput per second that the verdict compares with.
	BaselinePerS float64 `json:"baseline_per_s"`
	Goodput      Course  `json:"goodput"`
	Users        Course  `json:"users"`
	Aftermath    After   `json:"aftermath"`
}

// Course is what led to a verdict.
type Course struct {
	Why           string  `json:"why"`             // why undecided; else ""
	Up            bool    `json:"up"`              // at the end
	DownInTrigger bool    `json:"down_in_trigger"` // or at its end
	FellS         float64 `json:"fell_s"`          // the last fall; 0 if there was none after the trigger's end
	Relapses      int     `json:"relapses"`
	Hiccups       int     `json:"hiccups"` // outages after the trigger that were too short to be judged
}

// After describes the time that the verdict judged last: the second half of the
// time since the last change, or all since the trigger's end where nothing is down.
type After struct {
	FromS         float64 `json:"from_s"`
	ToS           float64 `json:"to_s"`
	RequestsPerS  float64 `json:"requests_per_s"`
	OfferedPerS   float64 `json:"offered_per_s"`
	ThroughputPS  float64 `json:"throughput_per_s"`
	GoodputPerS   float64 `json:"goodput_per_s"` // the client's
	Queue         int64   `json:"queue"`         // at its end
	QueueFallPerS float64 `json:"queue_fall_per_s"`
}
