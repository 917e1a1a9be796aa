// Package service says how long a unit of work takes: drawn service times,
// faults that change them for a while, and degradation under load. The simulator
// and the live worker ask the same Model.
package service

import (
	"fmt"
	"math"
	"strings"
	"time"

	"shedload/internal/draw"
)

// Kind is the shape of a service time's distribution.
type Kind uint8

// The kinds.
const (
	// Fixed is always A.
	Fixed Kind = iota
	// Uniform lies between A and B, both included.
	Uniform
	// Exponential has the mean A.
	Exponential
	// Lognormal has the median A and the 99th percentile B.
	Lognormal
)

// MaxTime bounds every time in a Spec.
const MaxTime = time.Hour

// normalP99 is the 99th percentile of the standard normal distribution.
const normalP99 = 2.3263478740408408

// Spec is a distribution of times. Its text forms are 50ms, uniform:50ms,50.5ms,
// exp:50ms (mean) and lognormal:50ms,p99=200ms (median and 99th percentile). The
// zero Spec is always 0.
type Spec struct {
	Kind Kind
	// A is the value, the lower end, the mean or the median.
	A time.Duration
	// B is the upper end or the 99th percentile; 0 in the other kinds.
	B time.Duration
}

const specForms = "50ms, uniform:50ms,50.5ms, exp:50ms and lognormal:50ms,p99=200ms"

// ParseSpec reads the text form.
func ParseSpec(text string) (Spec, error) {
	kind, rest, found := strings.Cut(text, ":")
	if !found {
		value, err := parseTime(text)
		if err != nil {
			return Spec{}, fmt.Errorf("time %q: %w; forms are %s", text, err, specForms)
		}
		return Spec{Kind: Fixed, A: value}, nil
	}
	s, err := parseDistribution(kind, rest)
	if err != nil {
		return Spec{}, fmt.Errorf("time %q: %w; forms are %s", text, err, specForms)
	}
	return s, nil
}

func parseDistribution(kind, rest string) (Spec, error) {
	first, second, two := strings.Cut(rest, ",")
	s := Spec{}
	switch kind {
	case "uniform":
		s.Kind = Uniform
		if !two {
			return s, fmt.Errorf("uniform needs two ends")
		}
	case "exp":
		s.Kind = Exponential
		if two {
			return s, fmt.Errorf("exp takes its mean alone")
		}
	case "lognormal":
		s.Kind = Lognormal
		if second, two = strings.CutPrefix(second, "p99="); !two {
			return s, fmt.Errorf("lognormal needs its p99")
		}
	default:
		return s, fmt.Errorf("unknown distribution %q", kind)
	}
	var err error
	if s.A, err = parseTime(first); err != nil {
		return s, err
	}
	if two {
		if s.B, err = parseTime(second); err != nil {
			return s, err
		}
	}
	return s, s.Validate()
}

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 50ms", text)
	case d < 0 || d > MaxTime:
		return 0, fmt.Errorf("%s is outside 0s to %s", text, MaxTime)
	}
	return d, nil
}

// Validate says what is wrong with a Spec that was not made by ParseSpec.
func (s Spec) Validate() error {
	switch {
	case s.Kind > Lognormal:
		return fmt.Errorf("unknown distribution %d", s.Kind)
	case s.A < 0 || s.A > MaxTime || s.B < 0 || s.B > MaxTime:
		return fmt.Errorf("%s and %s: a time is outside 0s to %s", s.A, s.B, MaxTime)
	case s.Kind == Uniform && s.B < s.A:
		return fmt.Errorf("the upper end %s is below the lower end %s", s.B, s.A)
	case s.Kind == Exponential && s.A == 0:
		return fmt.Errorf("the mean must be above 0s")
	case s.Kind == Lognormal && (s.A == 0 || s.B < s.A):
		return fmt.Errorf("the p99 %s must be at least the median %s, and that above 0s", s.B, s.A)
	case (s.Kind == Fixed || s.Kind == Exponential) && s.B != 0:
		return fmt.Errorf("a second time %s where one is used", s.B)
	}
	return nil
}

// String returns the text form.
func (s Spec) String() string {
	switch s.Kind {
	case Uniform:
		return "uniform:" + s.A.String() + "," + s.B.String()
	case Exponential:
		return "exp:" + s.A.String()
	case Lognormal:
		return "lognormal:" + s.A.String() + ",p99=" + s.B.String()
	default:
		return s.A.String()
	}
}

// MarshalText returns the text form.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text form.
func (s *Spec) UnmarshalText(text []byte) error {
	parsed, err := ParseSpec(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// IsZero reports whether s is always 0.
func (s Spec) IsZero() bool { return s == Spec{} }

// Draw returns one time, which is a function of rnd alone.
func (s Spec) Draw(rnd draw.Rand) time.Duration {
	switch s.Kind {
	case Uniform:
		return s.A + time.Duration(rnd.Below(uint64(s.B-s.A)+1))
	case Exponential:
		return rnd.ExponentialTime(s.A)
	case Lognormal:
		z := float64(rnd.Normal()) / draw.One
		return times(s.A, draw.Exp(float64(s.sigma()*z)))
	default:
		return s.A
	}
}

// Mean returns the expected time: what a worker does in the long run.
func (s Spec) Mean() time.Duration {
	switch s.Kind {
	case Uniform:
		return s.A + (s.B-s.A)/2
	case Lognormal:
		sigma := s.sigma()
		return times(s.A, draw.Exp(float64(sigma*sigma)/2))
	default:
		return s.A
	}
}

// Scaled returns s with all times multiplied by k > 0.
func (s Spec) Scaled(k float64) Spec {
	s.A, s.B = times(s.A, k), times(s.B, k)
	return s
}

// sigma is the standard deviation of the logarithm of a lognormal time.
func (s Spec) sigma() float64 {
	return draw.Ln(float64(s.B)/float64(s.A)) / normalP99
}

// times returns d·factor, rounded to the nearest nanosecond, at most 2^62 ns.
// The product is rounded before the addition, so that no compiler may fuse them.
func times(d time.Duration, factor float64) time.Duration {
	product := float64(float64(d)*factor) + 0.5
	if product >= 1<<62 {
		return 1 << 62
	}
	return time.Duration(math.Floor(product))
}
