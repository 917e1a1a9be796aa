package arrival

import (
	"fmt"
	"time"

	"shedload/internal/work"
)

// Phase changes the rate in the window [At, At+For). Exactly one of Rate, Factor
// and Stop is set. Of phases that overlap the last in the list counts. Bursts and
// traces take from a phase its name alone.
type Phase struct {
	Name string        `json:"name" yaml:"name"`
	At   time.Duration `json:"at" yaml:"at"`
	For  time.Duration `json:"for" yaml:"for"`
	// Rate replaces the rate, in arrivals a second.
	Rate float64 `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Factor multiplies the rate.
	Factor float64 `json:"factor,omitempty" yaml:"factor,omitempty"`
	// To makes the rate (or the factor, whichever is given) go evenly to this
	// value by the end of the phase.
	To float64 `json:"to,omitempty" yaml:"to,omitempty"`
	// Stop means that nothing arrives.
	Stop bool `json:"stop,omitempty" yaml:"stop,omitempty"`
	// Client confines the phase to one client group; empty means all. See PhasesOf.
	Client string `json:"client,omitempty" yaml:"client,omitempty"`
}

// MaxFactor bounds the factor of a phase.
const MaxFactor = 1e6

// Validate says what is wrong with p.
func (p Phase) Validate() error {
	set := 0
	for _, given := range []bool{p.Rate != 0, p.Factor != 0, p.Stop} {
		if given {
			set++
		}
	}
	var err error
	switch {
	case set != 1:
		err = fmt.Errorf("%d of rate, factor and stop are given, exactly one is allowed", set)
	case p.At < 0 || p.At > MaxTime || p.For <= 0 || p.For > MaxTime:
		err = fmt.Errorf("at %s must be in 0s to %s, and for %s above 0s and at most that", p.At, MaxTime, p.For)
	case p.Factor != 0 && !(p.Factor > 0 && p.Factor <= MaxFactor && p.To >= 0 && p.To <= MaxFactor):
		err = fmt.Errorf("factor %v or to %v is not above 0 and at most %v", p.Factor, p.To, float64(MaxFactor))
	case p.Stop && p.To != 0:
		err = fmt.Errorf("to %v goes with rate or factor only", p.To)
	default:
		err = firstError(validateRate("rate", p.Rate), validateRate("to", p.To))
	}
	if err != nil {
		return fmt.Errorf("phase %q: %w", p.Name, err)
	}
	return nil
}

// PhasesOf returns the phases that concern the named client group, in order.
func PhasesOf(phases []Phase, client string) []Phase {
	var own []Phase
	for _, p := range phases {
		if p.Client == "" || p.Client == client {
			own = append(own, p)
		}
	}
	return own
}

// Scaled returns p with all times multiplied by k > 0 and its rates divided by it.
func (p Phase) Scaled(k float64) Phase {
	p.At, p.For = scaled(p.At, k), scaled(p.For, k)
	if p.Rate != 0 {
		p.Rate, p.To = p.Rate/k, p.To/k
	}
	return p
}

func (p Phase) from() work.Instant { return work.Instant(p.At) }
func (p Phase) to() work.Instant   { return work.Instant(p.At).Add(p.For) }

func (p Phase) contains(t work.Instant) bool { return p.from() <= t && t < p.to() }
