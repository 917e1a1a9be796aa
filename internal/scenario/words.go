package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Wait is how a client waits for its answer.
type Wait string

// The ways of waiting.
const (
	WaitPost  Wait = "post"  // one POST that the server holds
	WaitPoll  Wait = "poll"  // start, then long-poll
	WaitClose Wait = "close" // one POST; the connection closes when patience ends
	WaitPlain Wait = "plain" // any URL of any service
)

// Allowed lists the values.
func (Wait) Allowed() []string { return []string{"post", "poll", "close", "plain"} }

// UnmarshalText accepts exactly the allowed values.
func (w *Wait) UnmarshalText(text []byte) error { return oneOf(w, text) }

// Protocol is the HTTP version of a client.
type Protocol string

// The protocols.
const (
	H1  Protocol = "h1"
	H2C Protocol = "h2c"
)

// Allowed lists the values.
func (Protocol) Allowed() []string { return []string{"h1", "h2c"} }

// UnmarshalText accepts exactly the allowed values.
func (p *Protocol) UnmarshalText(text []byte) error { return oneOf(p, text) }

// WorkKind is what a live worker does with its time.
type WorkKind string

// The kinds of work.
const (
	WorkSleep WorkKind = "sleep"
	WorkCPU   WorkKind = "cpu"
)

// Allowed lists the values.
func (WorkKind) Allowed() []string { return []string{"sleep", "cpu"} }

// UnmarshalText accepts exactly the allowed values.
func (k *WorkKind) UnmarshalText(text []byte) error { return oneOf(k, text) }

// AtEnd says what becomes of work that the end of a run finds.
type AtEnd string

// What can become of it.
const (
	Leave  AtEnd = "leave"  // left where it is: unfinished
	Shed   AtEnd = "shed"   // dropped at the horizon, reason closed
	Finish AtEnd = "finish" // runs to completion past the horizon, and counts
)

// Allowed lists the values.
func (AtEnd) Allowed() []string { return []string{"leave", "shed", "finish"} }

// UnmarshalText accepts exactly the allowed values.
func (e *AtEnd) UnmarshalText(text []byte) error { return oneOf(e, text) }

// End says what becomes of work that the end of a run finds.
type End struct {
	Queued    AtEnd `yaml:"queued" doc:"queued units: leave or shed"`
	InService AtEnd `yaml:"in_service" doc:"units in service: leave or finish"`
}

func (e *End) defaults() { e.Queued, e.InService = Leave, Leave }

// Model holds rules of virtual time that real processes do not have. A published
// experiment whose toy has them says so here.
type Model struct {
	Step        time.Duration `yaml:"step" doc:"the whole system moves in steps of this length: arrivals, service, give-ups (0: event by event)"`
	LatencyUnit time.Duration `yaml:"latency_unit" doc:"latencies are rounded half up to this before they are recorded (0: ns)"`
}

// Live says whether a variant is worth a run of real processes. Its text form is
// "run" or "skip, because REASON".
type Live struct {
	// Skip is the reason not to run it live; empty runs it.
	Skip string
}

// UnmarshalText reads the text form.
func (l *Live) UnmarshalText(text []byte) error {
	s := string(text)
	because, ok := strings.CutPrefix(s, "skip, because ")
	switch {
	case s == "run":
		*l = Live{}
	case ok && strings.TrimSpace(because) != "":
		l.Skip = because
	default:
		return fmt.Errorf("%q: allowed are run, or skip, because REASON", s)
	}
	return nil
}

// MarshalText returns the text form.
func (l Live) MarshalText() ([]byte, error) {
	if l.Skip == "" {
		return []byte("run"), nil
	}
	return []byte("skip, because " + l.Skip), nil
}

// word is a text type with a closed list of values.
type word interface {
	~string
	enum
}

func oneOf[T word](v *T, text []byte) error {
	if !slices.Contains((*v).Allowed(), string(text)) {
		return fmt.Errorf("%s", Unknown("value", string(text), (*v).Allowed()))
	}
	*v = T(text)
	return nil
}
