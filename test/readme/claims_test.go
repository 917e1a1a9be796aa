package readme

import (
	"testing"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/scenarios"
)

// TestTheEdge: what operating.md says about the sweep that it shows.
func TestTheEdge(t *testing.T) {
	for spike, want := range map[string]struct {
		verdict string
		short   bool // the queue stays below patience x capacity, 80 units
	}{"200ms": {ledger.Steady, true}, "300ms": {ledger.Collapsed, false}} {
		s, err := scenario.Load("shed-your-load-short", scenarios.Open)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := s.Plans([]string{"fifo"}, "phases.spike.for="+spike)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(plans[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Summary; got.Recovery.Verdict != want.verdict || (got.Peak.Queue < 80) != want.short {
			t.Errorf("a spike of %s: %s, longest queue %d", spike, got.Recovery.Verdict, got.Peak.Queue)
		}
	}
}
