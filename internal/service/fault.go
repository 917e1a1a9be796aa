package service

import (
	"fmt"
	"time"

	"shedload/internal/work"
)

// Fault changes the work in the window [At, At+For). Exactly one of the five
// effects is set.
type Fault struct {
	// At is the start of the window; in Model.Add it counts from now.
	At  time.Duration `json:"at" yaml:"at"`
	For time.Duration `json:"for" yaml:"for"`
	// ServiceTime replaces the service time of what starts in the window.
	ServiceTime *Spec `json:"service_time,omitempty" yaml:"service_time,omitempty"`
	// Factor multiplies the service time of what starts in the window.
	Factor float64 `json:"factor,omitempty" yaml:"factor,omitempty"`
	// CapacityShare is the share of the workers that may start work, above 0 to 1.
	CapacityShare float64 `json:"capacity_share,omitempty" yaml:"capacity_share,omitempty"`
	// Pause stops all work like a garbage collection: nothing starts, and what is
	// being worked on gets no further until the window ends.
	Pause bool `json:"pause,omitempty" yaml:"pause,omitempty"`
	// Hang keeps what starts in the window until the window ends (or for its
	// service time, if that ends later), like a dependency that does not answer.
	Hang bool `json:"hang,omitempty" yaml:"hang,omitempty"`
	// Class confines ServiceTime, Factor or Hang to one class; empty means all.
	Class string `json:"class,omitempty" yaml:"class,omitempty"`
}

// MaxFactor bounds the factors of faults and degradation.
const MaxFactor = 1e6

// Validate says what is wrong with f, given the names of the configured classes.
func (f Fault) Validate(classes []string) error {
	effects := 0
	for _, set := range []bool{f.ServiceTime != nil, f.Factor != 0, f.CapacityShare != 0, f.Pause, f.Hang} {
		if set {
			effects++
		}
	}
	switch {
	case effects != 1:
		return fmt.Errorf("fault: %d effects are set, one of service_time, factor, capacity_share, pause and hang is allowed", effects)
	case f.At < 0 || f.For <= 0:
		return fmt.Errorf("fault: at %s must not be negative and for %s must be above 0s", f.At, f.For)
	case f.Factor != 0 && !(f.Factor > 0 && f.Factor <= MaxFactor):
		return fmt.Errorf("fault: factor %v is not above 0 and at most %v", f.Factor, MaxFactor)
	case f.CapacityShare != 0 && !(f.CapacityShare > 0 && f.CapacityShare <= 1):
		return fmt.Errorf("fault: capacity_share %v is not above 0 and at most 1 (for none at all use pause)", f.CapacityShare)
	case f.Class != "" && (f.Pause || f.CapacityShare != 0):
		return fmt.Errorf("fault: class %q goes with service_time, factor or hang only", f.Class)
	case f.Class != "" && indexOf(classes, f.Class) < 0:
		return fmt.Errorf("fault: unknown class %q: allowed are %q", f.Class, classes)
	}
	if f.ServiceTime != nil {
		if err := f.ServiceTime.Validate(); err != nil {
			return fmt.Errorf("fault: service_time: %w", err)
		}
	}
	return nil
}

// Scaled returns f with all times multiplied by k > 0.
func (f Fault) Scaled(k float64) Fault {
	f.At, f.For = times(f.At, k), times(f.For, k)
	if f.ServiceTime != nil {
		scaled := f.ServiceTime.Scaled(k)
		f.ServiceTime = &scaled
	}
	return f
}

// window is a Fault on the model's clock, its class resolved.
type window struct {
	Fault
	from, to work.Instant
	class    int // -1: all
}

func (w *window) contains(now work.Instant) bool { return w.from <= now && now < w.to }

func (w *window) concerns(class uint8, now work.Instant) bool {
	return w.contains(now) && (w.class < 0 || w.class == int(class))
}

func indexOf(names []string, name string) int {
	for i := range names {
		if names[i] == name {
			return i
		}
	}
	return -1
}
