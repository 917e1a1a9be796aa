package scenario_test

import (
	"bytes"
	"fmt"
	"testing"

	"shedload/internal/scenario"
	"shedload/scenarios"
)

// The document of a plan is a scenario that gives the same plan, of every variant
// of every embedded scenario.
func TestDocumentLoadsAgain(t *testing.T) {
	for _, name := range scenarios.List() {
		s, err := scenario.Load(name, scenarios.Open)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := s.Plans([]string{"*"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			text := p.Document()
			again, err := scenario.Load(name, func(file string) ([]byte, error) {
				if file == name {
					return text, nil
				}
				return scenarios.Open(file)
			})
			if err != nil {
				t.Fatalf("%s/%s: %v\n%s", name, p.Variant, err, text)
			}
			twice, err := again.Plans(nil)
			if err != nil || len(twice) != 1 {
				t.Fatalf("%s/%s: %d plans, %v", name, p.Variant, len(twice), err)
			}
			if !bytes.Equal(text, twice[0].Document()) || twice[0].Recovery != p.Recovery || arrivals(twice[0]) != arrivals(p) {
				t.Errorf("%s/%s changes:\n%s\n%s", name, p.Variant, text, twice[0].Document())
			}
		}
	}
}

// arrivals is the text of all schedules, traces included.
func arrivals(p scenario.Plan) string {
	text := ""
	for _, c := range p.Clients {
		text += fmt.Sprint(c.Arrivals)
	}
	return text
}
