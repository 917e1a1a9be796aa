package scenario_test

import (
	"testing"

	"shedload/internal/scenario"
	"shedload/scenarios"
)

// Every embedded scenario loads, and each of its variants plans.
func TestEmbeddedScenariosPlan(t *testing.T) {
	for _, name := range scenarios.List() {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Load(name, scenarios.Open)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name {
				t.Errorf("%s.yaml calls itself %q", name, s.Name)
			}
			plans, err := s.Plans([]string{"*"})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plans {
				for i := range p.Clients {
					if _, err := p.Schedule(i); err != nil {
						t.Errorf("%s: %v", p.Variant, err)
					}
				}
				if p.About == "" {
					t.Errorf("%s says not what it is about", p.Variant)
				}
			}
		})
	}
}
