package service

import (
	"fmt"
	"strconv"
	"strings"
)

// Degrade makes work slower the more of it there is, as shared locks, caches and
// garbage collection do. With load = (queued + in service) / workers, a service
// time is multiplied by
//
//	min(Max, 1 + Slope·max(0, load − 1))
//
// so that a server whose work fits its workers is not slowed. Its text forms are
// none and 0.05,max=4 (the slope, and the largest factor, 10 if left out). The
// zero Degrade does nothing.
type Degrade struct {
	Slope, Max float64
}

const defaultDegradeMax = 10

// Load is what a server has to do at one instant, for Degrade.
type Load struct {
	Queued, InService, Workers int
}

// ParseDegrade reads the text form.
func ParseDegrade(text string) (Degrade, error) {
	if text == "none" || text == "" {
		return Degrade{}, nil
	}
	slope, most, limited := strings.Cut(text, ",")
	d := Degrade{Max: defaultDegradeMax}
	var err error
	if d.Slope, err = strconv.ParseFloat(slope, 64); err == nil && limited {
		most, limited = strings.CutPrefix(most, "max=")
		if d.Max, err = strconv.ParseFloat(most, 64); !limited {
			err = strconv.ErrSyntax
		}
	}
	if err != nil || d.Validate() != nil || d.Slope == 0 {
		return Degrade{}, fmt.Errorf("degradation %q: forms are none, 0.05 and 0.05,max=4, with a slope above 0 and a largest factor from 1, both at most %v", text, MaxFactor)
	}
	return d, nil
}

// Validate says what is wrong with a Degrade that was not made by ParseDegrade.
func (d Degrade) Validate() error {
	if d == (Degrade{}) {
		return nil
	}
	if !(d.Slope >= 0 && d.Slope <= MaxFactor && d.Max >= 1 && d.Max <= MaxFactor) {
		return fmt.Errorf("degradation: slope %v is not in 0 to %v, or largest factor %v not in 1 to %v", d.Slope, MaxFactor, d.Max, MaxFactor)
	}
	return nil
}

// Factor returns what a service time is multiplied by at load l, at least 1.
func (d Degrade) Factor(l Load) float64 {
	excess := l.Queued + l.InService - l.Workers
	if d.Slope == 0 || excess <= 0 || l.Workers <= 0 {
		return 1
	}
	return min(d.Max, 1+float64(d.Slope*float64(excess))/float64(l.Workers))
}

// String returns the text form.
func (d Degrade) String() string {
	if d.Slope == 0 {
		return "none"
	}
	format := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return format(d.Slope) + ",max=" + format(d.Max)
}

// MarshalText returns the text form.
func (d Degrade) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text form.
func (d *Degrade) UnmarshalText(text []byte) error {
	parsed, err := ParseDegrade(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}
