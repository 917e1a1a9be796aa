package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Range is a stretch of values of one setting: durations or numbers.
type Range struct {
	Low, High float64 // seconds, or numbers; Low < High
	// Step is the distance below which two values count as the same.
	Step float64
	unit unit
}

type unit uint8

const (
	numbers unit = iota
	wholeNumbers
	durations
)

// steps is how finely a range is searched.
const steps = 128

// ParseRange reads "1s..20s", "50..400" or "0.5..0.9". Whole numbers stay whole.
func ParseRange(text string) (Range, error) {
	low, high, ok := strings.Cut(text, "..")
	wrong := fmt.Errorf("range %q: is written LOW..HIGH, two times such as 1s..20s or two numbers such as 50..400", text)
	if !ok {
		return Range{}, wrong
	}
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	var r Range
	if a, err := time.ParseDuration(low); err == nil && !plain(low) {
		b, err := time.ParseDuration(high)
		if err != nil || plain(high) {
			return Range{}, wrong
		}
		r = Range{Low: a.Seconds(), High: b.Seconds(), unit: durations}
	} else {
		a, err1 := strconv.ParseFloat(low, 64)
		b, err2 := strconv.ParseFloat(high, 64)
		if err1 != nil || err2 != nil {
			return Range{}, wrong
		}
		r = Range{Low: a, High: b}
		if !strings.ContainsAny(low+high, ".eE") {
			r.unit = wholeNumbers
		}
	}
	if !(r.Low < r.High) || math.IsInf(r.High-r.Low, 0) {
		return Range{}, fmt.Errorf("range %q: the first value must be below the second", text)
	}
	r.Step = (r.High - r.Low) / steps
	switch r.unit {
	case wholeNumbers:
		r.Step = max(1, math.Round(r.Step))
	case durations:
		r.Step = max(1e-3, math.Round(r.Step*1e3)/1e3)
	}
	return r, nil
}

// plain reports whether text is a number without a unit: of all times, 0 alone has none.
func plain(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// Round returns the nearest value that a setting of this kind is given: whole
// milliseconds, whole numbers, or any number.
func (r Range) Round(x float64) float64 {
	switch r.unit {
	case wholeNumbers:
		return math.Round(x)
	case durations:
		return math.Round(x*1e3) / 1e3
	}
	return x
}

// Text writes a value as a setting is given it.
func (r Range) Text(x float64) string {
	if r.unit == durations {
		return time.Duration(math.Round(x * float64(time.Second))).String()
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
