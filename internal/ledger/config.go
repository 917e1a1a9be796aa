package ledger

import (
	"fmt"
	"time"

	"shedload/internal/work"
)

// Limits of a ledger.
const (
	DefaultRows   = 3600  // seconds kept when neither Config.Rows nor Config.Horizon says more
	MaxRows       = 86400 // seconds kept at most
	MaxWindows    = 256
	LongestRecord = time.Hour // longer latencies count as this long
)

// Config fixes the shape and size of a ledger.
type Config struct {
	// Instance names the process whose server view this is; it travels in snapshots.
	Instance string
	// Classes names the classes by index; empty for a single nameless one. A unit
	// of an unknown class counts as class 0. At most work.MaxClasses.
	Classes []string
	// Horizon is the run's end: events at or after it are ignored, but for the sample
	// that closes the last row and the bookkeeping of requests that end unfinished.
	// 0 means none. A model that sheds or finishes work at its close leaves it 0.
	Horizon work.Instant
	// Windows are kept beside the totals. At most MaxWindows.
	Windows []WindowSpec
	// Rows is how many seconds are kept, the newest; 0 means as many as the
	// horizon has, or DefaultRows without one. At most MaxRows.
	Rows int
	// Resolution is the unit in which latencies are recorded, rounded half up:
	// 0 means a microsecond; time.Millisecond reproduces experiments that record
	// whole milliseconds.
	Resolution time.Duration
}

// WindowSpec names a span of a run that is counted on its own: the requests whose
// intended start lies in [From, To), or, with Completed, the units that finished in it.
type WindowSpec struct {
	Name string        `json:"name" yaml:"name" doc:"how results call it"`
	From time.Duration `json:"from_ns" yaml:"from" doc:"its start"`
	To   time.Duration `json:"to_ns" yaml:"to" doc:"its end, itself outside"`
	// Completed counts finished units instead of started requests.
	Completed bool `json:"completed,omitempty" yaml:"completed" doc:"true: the units that finish in it; false: the requests that start in it"`
}

// Validate says what about c is impossible. New panics on such a Config.
func (c Config) Validate() error {
	switch {
	case len(c.Classes) > work.MaxClasses:
		return fmt.Errorf("%d classes: at most %d are allowed", len(c.Classes), work.MaxClasses)
	case len(c.Windows) > MaxWindows:
		return fmt.Errorf("%d windows: at most %d are allowed", len(c.Windows), MaxWindows)
	case c.Rows < 0 || c.Rows > MaxRows:
		return fmt.Errorf("%d rows: 0 to %d are allowed", c.Rows, MaxRows)
	case c.Horizon < 0:
		return fmt.Errorf("horizon %v is negative", c.Horizon)
	case c.Resolution != 0 && (c.Resolution < time.Microsecond || c.Resolution > time.Second):
		return fmt.Errorf("resolution %v: 1µs to 1s are allowed", c.Resolution)
	}
	for _, w := range c.Windows {
		if w.From < 0 || w.To <= w.From {
			return fmt.Errorf("window %q from %v to %v: the end must be after the start", w.Name, w.From, w.To)
		}
	}
	return nil
}

// rows returns the capacity of the row ring.
func (c Config) rows() int {
	switch {
	case c.Rows > 0:
		return c.Rows
	case c.Horizon > 0:
		return int(min((c.Horizon+second-1)/second, MaxRows))
	}
	return DefaultRows
}
