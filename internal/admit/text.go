package admit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const specForms = "open, queue_limit:60, in_system:20, concurrency:4,wait=10ms, priority:40,other=20, bulkheads:2,wait=10ms, infeasible, aimd, gradient2, vegas:8,floor=4,ceiling=200, and several joined by +"

// ParseSpec reads the text form. Names of classes and compartments are checked by
// Validate, not here.
func ParseSpec(text string) (Spec, error) {
	var doors []Spec
	for part := range strings.SplitSeq(text, "+") {
		s, err := parseDoor(part)
		if err == nil {
			err = s.validateSettings()
		}
		if err != nil {
			return Spec{}, fmt.Errorf("door %q: %w; forms are %s", text, err, specForms)
		}
		doors = append(doors, s)
	}
	s := doors[0]
	if len(doors) > 1 {
		s.And = doors[1:]
	}
	if err := s.validateChain(); err != nil {
		return Spec{}, fmt.Errorf("door %q: %w", text, err)
	}
	return s, nil
}

func parseDoor(text string) (Spec, error) {
	var s Spec
	kind, settings, found := strings.Cut(text, ":")
	if err := s.Kind.UnmarshalText([]byte(kind)); err != nil {
		return s, err
	}
	if !found {
		return s, nil
	}
	for i, setting := range strings.Split(settings, ",") {
		name, value, named := strings.Cut(setting, "=")
		if !named && i == 0 {
			name, value, named = "limit", setting, true
		}
		if !named {
			return s, fmt.Errorf("%q is not a setting such as wait=10ms", setting)
		}
		if err := s.set(name, value); err != nil {
			return s, fmt.Errorf("%s %q: %w", name, value, err)
		}
	}
	return s, nil
}

func (s *Spec) set(name, value string) error {
	var err error
	switch name {
	case "limit":
		s.Limit, err = parseCount(value)
	case "floor":
		s.Floor, err = parseCount(value)
	case "ceiling":
		s.Ceiling, err = parseCount(value)
	case "wait":
		s.Wait, err = parseWait(value)
	case "latency":
		s.Latency, err = parseWait(value)
	case "count":
		s.Count = value
	default:
		if s.Kind != Priority && s.Kind != Bulkheads {
			return fmt.Errorf("unknown setting: allowed are limit, wait, count, floor, ceiling and latency")
		}
		if s.PerClass == nil {
			s.PerClass = map[string]float64{}
		}
		if _, twice := s.PerClass[name]; twice {
			return fmt.Errorf("is given twice")
		}
		if s.PerClass[name], err = strconv.ParseFloat(value, 64); err != nil {
			return fmt.Errorf("is not a number")
		}
	}
	return err
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxLimit {
		return 0, fmt.Errorf("is not a whole number from 1 to %d", MaxLimit)
	}
	return n, nil
}

func parseWait(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > MaxWait {
		return 0, fmt.Errorf("is not a duration above 0s and at most %s, such as 10ms", MaxWait)
	}
	return d, nil
}

// String returns the text form, settings in a fixed order.
func (s Spec) String() string {
	var settings []string
	number := func(name string, value int) {
		if value != 0 {
			settings = append(settings, name+strconv.Itoa(value))
		}
	}
	duration := func(name string, value time.Duration) {
		if value != 0 {
			settings = append(settings, name+value.String())
		}
	}
	number("", s.Limit)
	duration("wait=", s.Wait)
	if s.Count != "" {
		settings = append(settings, "count="+s.Count)
	}
	number("floor=", s.Floor)
	number("ceiling=", s.Ceiling)
	duration("latency=", s.Latency)
	for _, name := range sortedKeys(s.PerClass) {
		settings = append(settings, name+"="+strconv.FormatFloat(s.PerClass[name], 'f', -1, 64))
	}
	text := s.Kind.String()
	if len(settings) > 0 {
		text += ":" + strings.Join(settings, ",")
	}
	for _, next := range s.And {
		text += "+" + next.String()
	}
	return text
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

func sortedKeys(m map[string]float64) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func listed(names []string) string { return strings.Join(names, ", ") }
