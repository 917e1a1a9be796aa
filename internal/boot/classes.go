package boot

import (
	"fmt"
	"slices"
	"strings"

	"shedload/internal/service"
	"shedload/internal/work"
)

// Classes are the kinds of requests, with the text form
// NAME:CRITICALITY[:COMPARTMENT], separated by commas.
type Classes []work.Class

// UnmarshalText accepts the text form; names are unique and at most
// work.MaxClasses.
func (c *Classes) UnmarshalText(b []byte) error {
	var classes Classes
	seen := map[string]bool{}
	for part := range strings.SplitSeq(string(b), ",") {
		fields := strings.Split(strings.TrimSpace(part), ":")
		if len(fields) < 2 || len(fields) > 3 {
			return fmt.Errorf("class %q: allowed is NAME:CRITICALITY[:COMPARTMENT], like pay:critical", part)
		}
		class := work.Class{Name: fields[0]}
		if !label(class.Name) || seen[class.Name] {
			return fmt.Errorf("class %q: names are unique, of lower-case letters, digits and .+-_", class.Name)
		}
		if err := class.Criticality.UnmarshalText([]byte(fields[1])); err != nil {
			return fmt.Errorf("class %q: %w", class.Name, err)
		}
		if len(fields) == 3 {
			class.Compartment = fields[2]
		}
		seen[class.Name] = true
		classes = append(classes, class)
	}
	if len(classes) > work.MaxClasses {
		return fmt.Errorf("%d classes: at most %d are allowed", len(classes), work.MaxClasses)
	}
	*c = classes
	return nil
}

// MarshalText returns the text form.
func (c Classes) MarshalText() ([]byte, error) {
	parts := make([]string, len(c))
	for i, class := range c {
		parts[i] = class.Name + ":" + class.Criticality.String()
		if class.Compartment != "" {
			parts[i] += ":" + class.Compartment
		}
	}
	return []byte(strings.Join(parts, ",")), nil
}

// ClassTime is the service time of one class.
type ClassTime struct {
	Class string
	Time  service.Spec
}

// ClassTimes are the service times of the classes that have their own, with the
// text form NAME=TIME, separated by semicolons because a time may hold a comma.
type ClassTimes []ClassTime

// UnmarshalText accepts the text form; a class may be named once.
func (c *ClassTimes) UnmarshalText(b []byte) error {
	var times ClassTimes
	for part := range strings.SplitSeq(string(b), ";") {
		name, text, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return fmt.Errorf("class time %q: allowed is NAME=TIME, like search=exp:200ms", part)
		}
		if slices.ContainsFunc(times, func(t ClassTime) bool { return t.Class == name }) {
			return fmt.Errorf("class time %q: the class is named twice", part)
		}
		t := ClassTime{Class: name}
		if err := t.Time.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("class %q: %w", name, err)
		}
		times = append(times, t)
	}
	*c = times
	return nil
}

// MarshalText returns the text form.
func (c ClassTimes) MarshalText() ([]byte, error) {
	parts := make([]string, len(c))
	for i, t := range c {
		parts[i] = t.Class + "=" + t.Time.String()
	}
	return []byte(strings.Join(parts, ";")), nil
}
