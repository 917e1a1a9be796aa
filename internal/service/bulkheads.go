package service

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bulkheads bounds, by compartment, how many workers may be busy with it at once: a
// dependency that hangs then takes its own workers and no others. Work beyond that
// fails at once. Compartments that are not named are not bounded. The text form is
// NAME=WORKERS,...
type Bulkheads map[string]int

// UnmarshalText reads the text form.
func (b *Bulkheads) UnmarshalText(text []byte) error {
	out := Bulkheads{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(part), "=")
		workers, err := strconv.Atoi(number)
		if _, twice := out[name]; !ok || err != nil || name == "" || twice {
			return fmt.Errorf("bulkhead %q: allowed is COMPARTMENT=WORKERS, each compartment once, like search=2,pay=4", part)
		}
		out[name] = workers
	}
	*b = out
	return nil
}

// MarshalText returns the text form, sorted by name.
func (b Bulkheads) MarshalText() ([]byte, error) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		parts = append(parts, name+"="+strconv.Itoa(b[name]))
	}
	return []byte(strings.Join(parts, ",")), nil
}

// String returns the text form.
func (b Bulkheads) String() string {
	text, _ := b.MarshalText() // which never fails
	return string(text)
}

// Validate says what is wrong with b, given the compartments that classes have.
func (b Bulkheads) Validate(compartments []string) error {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		switch {
		case b[name] < 1:
			return fmt.Errorf("bulkheads: %s has %d workers: allowed is 1 and more", name, b[name])
		case !slices.Contains(compartments, name):
			return fmt.Errorf("bulkheads: no class has the compartment %q: there are %q", name, compartments)
		}
	}
	return nil
}

// wall is one bulkhead at work.
type wall struct{ limit, busy int }

// walls returns the bulkhead of each class; nil for those without.
func (c Config) walls() []*wall {
	byName := map[string]*wall{}
	for name, limit := range c.Bulkheads {
		byName[name] = &wall{limit: limit}
	}
	out := make([]*wall, len(c.Compartments))
	for i, name := range c.Compartments {
		out[i] = byName[name]
	}
	return out
}

// Enter takes a worker for the class; false when its compartment has no more. What
// Enter grants, Leave gives back.
func (m *Model) Enter(class uint8) bool {
	w := m.wallOf(class)
	if w == nil {
		return true
	}
	if w.busy >= w.limit {
		return false
	}
	w.busy++
	return true
}

// Leave gives back what Enter granted.
func (m *Model) Leave(class uint8) {
	if w := m.wallOf(class); w != nil {
		w.busy--
	}
}

func (m *Model) wallOf(class uint8) *wall {
	if int(class) >= len(m.walls) {
		return nil
	}
	return m.walls[class]
}
