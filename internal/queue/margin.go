package queue

import (
	"fmt"
	"strings"
	"time"
)

// DefaultMargin is in force where a deadline shed is asked for and no margin is given.
const DefaultMargin = 70 * time.Millisecond

// maxMargin is the ceiling of deadlines: no larger margin could keep anything.
const maxMargin = time.Hour

// Margin is how much time before its deadline a unit is given up: a fixed
// duration, or learned from finished work. The zero Margin is 0s: units are
// dropped only when their deadline has passed.
type Margin struct {
	Auto bool
	D    time.Duration
}

// ParseMargin reads the text form: a duration from 0s to 1h, or auto.
func ParseMargin(text string) (Margin, error) {
	if text == "auto" {
		return Margin{Auto: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxMargin || strings.ContainsAny(text, "+-") {
		return Margin{}, fmt.Errorf("margin %.64q: allowed are a duration from 0s to 1h such as 70ms, or auto", text)
	}
	return Margin{D: d}, nil
}

// String returns the text form.
func (m Margin) String() string {
	if m.Auto {
		return "auto"
	}
	return m.D.String()
}

// MarshalText returns the text form.
func (m Margin) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the text form; see ParseMargin.
func (m *Margin) UnmarshalText(text []byte) error {
	got, err := ParseMargin(string(text))
	if err != nil {
		return err
	}
	*m = got
	return nil
}
