package admit

import (
	"fmt"
	"math"
	"strings"

	"shedload/internal/work"
)

// Validate says what is wrong with s, given the classes of the server.
func (s Spec) Validate(classes []work.Class) error {
	if err := s.validateChain(); err != nil {
		return fmt.Errorf("door: %w", err)
	}
	for _, door := range append([]Spec{s}, s.And...) {
		err := door.validateSettings()
		if err == nil {
			err = door.validateNames(classes)
		}
		if err != nil {
			return fmt.Errorf("door %s: %w", door.Kind, err)
		}
	}
	return nil
}

func (s Spec) validateChain() error {
	if len(s.And) >= MaxDoors {
		return fmt.Errorf("%d doors, at most %d are allowed", 1+len(s.And), MaxDoors)
	}
	for _, next := range s.And {
		if len(next.And) > 0 {
			return fmt.Errorf("a door under and has an and of its own: list them all in the first")
		}
	}
	return nil
}

// validateSettings checks what does not depend on the classes.
func (s Spec) validateSettings() error {
	if s.Kind >= numKinds {
		return fmt.Errorf("unknown kind: allowed are %s", listed(kindNames[:]))
	}
	if err := s.validateAllowed(); err != nil {
		return err
	}
	needs := s.Kind == QueueLimit || s.Kind == InSystem || s.Kind == Concurrency || s.Kind == Priority || s.Kind == Bulkheads
	switch {
	case needs && s.Limit == 0:
		return fmt.Errorf("needs a limit")
	case s.Limit < 0 || s.Limit > MaxLimit:
		return fmt.Errorf("limit %d is not in 1 to %d", s.Limit, MaxLimit)
	case s.Wait < 0 || s.Wait > MaxWait:
		return fmt.Errorf("wait %s is not in 0s to %s", s.Wait, MaxWait)
	case s.Latency < 0 || s.Latency > MaxWait:
		return fmt.Errorf("latency %s is not in 0s to %s", s.Latency, MaxWait)
	case s.Count != "" && s.Count != countQueue && s.Count != countInSystem:
		return fmt.Errorf("count %q: allowed are %s and %s", s.Count, countQueue, countInSystem)
	}
	for _, name := range sortedKeys(s.PerClass) {
		limit := s.PerClass[name]
		if reserved(name) {
			return fmt.Errorf("%q cannot be the name of a class or compartment here", name)
		}
		if !(limit > 0 && limit <= MaxLimit) || (limit >= 1 && limit != math.Trunc(limit)) {
			return fmt.Errorf("limit %v of %s is neither a share above 0 and below 1 nor a whole number up to %d", limit, name, MaxLimit)
		}
	}
	return s.validateBounds()
}

func (s Spec) validateBounds() error {
	switch {
	case s.Floor < 0 || s.Floor > MaxLimit || s.Ceiling < 0 || s.Ceiling > MaxLimit:
		return fmt.Errorf("floor %d or ceiling %d is not in 1 to %d", s.Floor, s.Ceiling, MaxLimit)
	case s.Ceiling != 0 && s.Floor > s.Ceiling:
		return fmt.Errorf("floor %d is above the ceiling %d", s.Floor, s.Ceiling)
	case s.Limit != 0 && s.Limit < s.Floor:
		return fmt.Errorf("limit %d is below the floor %d", s.Limit, s.Floor)
	case s.Ceiling != 0 && s.Limit > s.Ceiling:
		return fmt.Errorf("limit %d is above the ceiling %d", s.Limit, s.Ceiling)
	}
	return nil
}

// validateAllowed refuses a setting that the kind would ignore.
func (s Spec) validateAllowed() error {
	for _, set := range []struct {
		field field
		name  string
		used  bool
	}{
		{limitField, "limit", s.Limit != 0},
		{waitField, "wait", s.Wait != 0},
		{perClassField, "per_class", len(s.PerClass) > 0},
		{countField, "count", s.Count != ""},
		{boundsField, "floor", s.Floor != 0},
		{boundsField, "ceiling", s.Ceiling != 0},
		{latencyField, "latency", s.Latency != 0},
	} {
		if set.used && allowed[s.Kind]&set.field == 0 {
			return fmt.Errorf("has no setting %s", set.name)
		}
	}
	return nil
}

func (s Spec) validateNames(classes []work.Class) error {
	known := map[string]bool{}
	var names []string
	add := func(name string) {
		if name != "" && !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	for _, c := range classes {
		if s.Kind == Bulkheads {
			add(c.Compartment)
		} else {
			add(c.Name)
		}
	}
	kind := "compartment"
	if s.Kind == Priority {
		kind = "class or criticality"
		for c := range work.Criticality(work.NumCriticalities) {
			add(c.String())
		}
	}
	for _, name := range sortedKeys(s.PerClass) {
		if !known[name] {
			return fmt.Errorf("unknown %s %q: allowed are %s", kind, name, listed(names))
		}
	}
	return nil
}

// reserved reports whether a name could not be told apart in the text form.
func reserved(name string) bool {
	switch name {
	case "", "limit", "wait", "count", "floor", "ceiling", "latency":
		return true
	}
	return strings.ContainsAny(name, ",=+:")
}
