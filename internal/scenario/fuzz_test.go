package scenario

import (
	"errors"
	"strings"
	"testing"
)

// Whatever the text, reading it ends in a scenario whose variants plan, or in
// problems that each have a place; it does not panic.
func FuzzLoad(f *testing.F) {
	f.Add(small)
	f.Add("name: x\nhorizon: 1s\nclients: [{name: a, arrivals: even, rate: 1}]\n")
	f.Add(strings.Replace(small, "90s", "90", 1))
	f.Add("a: &b [*b]")
	f.Add("{{{{[[[[")
	f.Add("? x\n: - y")
	f.Add("<<: {a: 1}")
	f.Add("a: |\n  text\nb: >-\n  more")
	f.Add("variants: {a: , b: 3}\nexpect: {a: [1 +, '']}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load(text)
		var list Problems
		switch {
		case err == nil:
			if plans, err := s.Plans([]string{"*"}); err != nil || len(plans) != len(s.Variants) {
				t.Errorf("loaded, but plans %d of %d variants: %v", len(plans), len(s.Variants), err)
			}
		case !errors.As(err, &list):
			t.Errorf("not problems: %v", err)
		default:
			for _, p := range list {
				if p.File != "f.yaml" || p.Line < 1 || p.Column < 0 || p.Message == "" {
					t.Errorf("a problem without a place: %+v", p)
				}
			}
		}
	})
}

// The same of overrides.
func FuzzSet(f *testing.F) {
	s, err := load(small)
	if err != nil {
		f.Fatal(err)
	}
	for _, set := range []string{"server.drop_margin=55ms", "clients.0.rate=7", "phases.spike.for=3s", "a=}", "x", "=", "clients..=1", "horizon={a: b}", "server.door={kind: open}}"} {
		f.Add(set)
	}
	f.Fuzz(func(t *testing.T, set string) {
		plans, err := s.Plans(nil, set)
		if err != nil {
			var list Problems
			if !errors.As(err, &list) {
				t.Errorf("not problems: %v", err)
			}
			return
		}
		if len(plans) != len(s.Default) {
			t.Errorf("%d plans", len(plans))
		}
	})
}
