// Package arrival says when new requests come: the schedule of an open loop,
// known in advance and independent of how the server fares. The k-th arrival
// follows from k and the integrated rate alone, in whole nanoseconds, so that a
// schedule neither drifts nor depends on when it is asked.
package arrival

import (
	"fmt"
	"math"
	"strings"
	"time"

	"shedload/internal/work"
)

// Kind is the shape of a schedule.
type Kind uint8

// The kinds.
const (
	// Even spaces arrivals evenly.
	Even Kind = iota + 1
	// Poisson draws the gaps, so that arrivals are independent of each other.
	Poisson
	// Burst is Count arrivals at once, at From.
	Burst
	// OnOff alternates between Rate for On and OffRate for Off, starting with Rate.
	OnOff
	// Ramp goes evenly from Rate to To within Over, and stays there.
	Ramp
	// Trace replays recorded instants.
	Trace
	numKinds = iota + 1
)

var kindNames = [numKinds]string{"", "even", "poisson", "burst", "onoff", "ramp", "trace"}

// String returns the text form.
func (k Kind) String() string {
	if k >= numKinds {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// MarshalText returns the text form.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if i > 0 && name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown arrivals %q: allowed are %s", text, strings.Join(kindNames[1:], ", "))
}

// Bounds of a Spec and of phases.
const (
	MaxRate   = 1e9 // arrivals a second
	MaxCount  = 100_000_000
	MaxPhases = 1000
	MaxTime   = 1000 * time.Hour
)

// An onoff schedule is searched spell by spell; these bound the search.
const (
	minSpell     = time.Millisecond
	minSpellRate = 0.001
)

// Spec describes the arrivals of one client group. Rates are arrivals a second;
// they are kept to a millionth.
type Spec struct {
	Kind Kind    `json:"arrivals" yaml:"arrivals"`
	Rate float64 `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Count is the size of a burst.
	Count int `json:"count,omitempty" yaml:"count,omitempty"`
	// On, Off and OffRate shape onoff.
	On      time.Duration `json:"on,omitempty" yaml:"on,omitempty"`
	Off     time.Duration `json:"off,omitempty" yaml:"off,omitempty"`
	OffRate float64       `json:"off_rate,omitempty" yaml:"off_rate,omitempty"`
	// To and Over shape a ramp.
	To   float64       `json:"to,omitempty" yaml:"to,omitempty"`
	Over time.Duration `json:"over,omitempty" yaml:"over,omitempty"`
	// Poisson draws the gaps of onoff and ramp, which are even otherwise.
	Poisson bool `json:"poisson,omitempty" yaml:"poisson,omitempty"`
	// From is where the schedule starts; On, Over and the instants of a trace
	// count from it. Phases count from instant 0.
	From time.Duration `json:"from,omitempty" yaml:"from,omitempty"`
	// Until, when not 0, is the first instant without arrivals.
	Until time.Duration `json:"until,omitempty" yaml:"until,omitempty"`
	// Trace holds the instants of a trace, never falling.
	Trace []work.Instant `json:"-" yaml:"-"`
}

// Validate says what is wrong with s.
func (s Spec) Validate() error {
	err := s.validateKind()
	switch {
	case err != nil:
	case s.From < 0 || s.From > MaxTime || s.Until < 0 || s.Until > MaxTime:
		err = fmt.Errorf("from %s or until %s is not in 0s to %s", s.From, s.Until, MaxTime)
	case s.Until != 0 && s.Until <= s.From:
		err = fmt.Errorf("until %s is not after from %s", s.Until, s.From)
	}
	if err != nil {
		return fmt.Errorf("arrivals %s: %w", s.Kind, err)
	}
	return nil
}

func (s Spec) validateKind() error {
	if err := s.validateUnused(); err != nil {
		return err
	}
	switch s.Kind {
	case Even, Poisson:
		return validateRate("rate", s.Rate)
	case Burst:
		if s.Count < 1 || s.Count > MaxCount {
			return fmt.Errorf("count %d is not in 1 to %d", s.Count, MaxCount)
		}
	case OnOff:
		if min(s.On, s.Off) < minSpell || max(s.On, s.Off) > MaxTime {
			return fmt.Errorf("on %s and off %s must be in %s to %s", s.On, s.Off, minSpell, MaxTime)
		}
		if max(s.Rate, s.OffRate) < minSpellRate {
			return fmt.Errorf("rate %v or off_rate %v must be at least %v", s.Rate, s.OffRate, minSpellRate)
		}
		return firstError(validateRate("rate", s.Rate), validateRate("off_rate", s.OffRate))
	case Ramp:
		if s.Over <= 0 || s.Over > MaxTime {
			return fmt.Errorf("over %s must be above 0s and at most %s", s.Over, MaxTime)
		}
		return firstError(validateRate("rate", s.Rate), validateRate("to", s.To))
	case Trace:
		return validateTrace(s.Trace)
	default:
		return fmt.Errorf("no kind: allowed are %s", strings.Join(kindNames[1:], ", "))
	}
	return nil
}

// validateUnused refuses settings that the kind would ignore.
func (s Spec) validateUnused() error {
	shaped := s.Kind == OnOff || s.Kind == Ramp
	for _, setting := range []struct {
		name    string
		unused  bool
		allowed bool
	}{
		{"rate", s.Rate == 0, shaped || s.Kind == Even || s.Kind == Poisson},
		{"count", s.Count == 0, s.Kind == Burst},
		{"on", s.On == 0, s.Kind == OnOff},
		{"off", s.Off == 0, s.Kind == OnOff},
		{"off_rate", s.OffRate == 0, s.Kind == OnOff},
		{"to", s.To == 0, s.Kind == Ramp},
		{"over", s.Over == 0, s.Kind == Ramp},
		{"poisson", !s.Poisson, shaped},
		{"trace", len(s.Trace) == 0, s.Kind == Trace},
	} {
		if !setting.unused && !setting.allowed {
			return fmt.Errorf("has no setting %s", setting.name)
		}
	}
	return nil
}

func validateTrace(trace []work.Instant) error {
	last := work.Instant(0)
	for i, at := range trace {
		if at < last || at > work.Instant(MaxTime) {
			return fmt.Errorf("arrival %d at %s is before the one ahead of it, before 0s or after %s", i, at, MaxTime)
		}
		last = at
	}
	return nil
}

func validateRate(name string, rate float64) error {
	if !(rate >= 0 && rate <= MaxRate) {
		return fmt.Errorf("%s %v is not in 0 to %v", name, rate, float64(MaxRate))
	}
	return nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Scaled returns s with all times multiplied by k > 0 and all rates divided by it.
func (s Spec) Scaled(k float64) Spec {
	s.Rate, s.OffRate, s.To = s.Rate/k, s.OffRate/k, s.To/k
	s.On, s.Off, s.Over = scaled(s.On, k), scaled(s.Off, k), scaled(s.Over, k)
	s.From, s.Until = scaled(s.From, k), scaled(s.Until, k)
	trace := s.Trace
	s.Trace = make([]work.Instant, len(trace))
	for i, at := range trace {
		s.Trace[i] = work.Instant(scaled(time.Duration(at), k))
	}
	return s
}

func scaled(d time.Duration, k float64) time.Duration {
	return time.Duration(math.Round(float64(float64(d) * k)))
}
