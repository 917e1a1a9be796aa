package sim

import (
	"math"
	"testing"

	"shedload/internal/ledger"
	"shedload/test/need"
)

// TestStepsAgreeWithEvents holds the stepping engine to this one on scenarios that
// both can run: with steps of 10 ms every figure is within half a per cent. (Left
// out are doors that fill up, where the two order the arrivals of one instant
// differently: there new requests come first, here the retries due.)
func TestStepsAgreeWithEvents(t *testing.T) {
	need.NoRace(t)
	figures := map[string]func(*ledger.Summary) float64{
		"attempts": func(s *ledger.Summary) float64 { return float64(s.Attempts.Total) },
		"late":     func(s *ledger.Summary) float64 { return float64(s.Attempts.Late) },
		"dropped":  func(s *ledger.Summary) float64 { return float64(s.Attempts.DroppedTotal) },
		"wasted":   func(s *ledger.Summary) float64 { return s.WastedWorkS },
		"good":     throughput, "goodput": goodput, "gave up": gaveUp, "peak queue": peakQueue, "peak offered": peakOffered,
	}
	for _, c := range []struct {
		scenario, variant string
		sets              []string
	}{
		{"metastable-overload", "as-published", nil},
		{"metastable-overload", "trigger-11s", nil},
		{"metastable-overload", "no-retries", nil},
		{"metastable-overload", "drop-abandoned", nil},
		{"metastable-overload", "patience-15s", nil},
		{"metastable-overload", "backoff-8s", nil},
		{"shed-your-load", "fifo", []string{"clients.users.arrivals=even"}},
		{"shed-your-load", "naive-deadline", []string{"clients.users.arrivals=even"}},
	} {
		events := run(t, changed(t, c.scenario, []string{c.variant}, append(c.sets, "model.step=0s")...)[0]).Summary
		steps := run(t, changed(t, c.scenario, []string{c.variant}, append(c.sets, "model.step=10ms")...)[0]).Summary
		for name, figure := range figures {
			a, b := figure(&events), figure(&steps)
			allowed := 0.005
			if name == "peak queue" {
				allowed = 0.01
			}
			if math.Abs(a-b) > max(allowed*a, 5) {
				t.Errorf("%s/%s: %s is %v by events, %v in steps", c.scenario, c.variant, name, a, b)
			}
		}
		if a, b := events.Recovery, steps.Recovery; a.Verdict != b.Verdict || a.UsersVerdict != b.UsersVerdict {
			t.Errorf("%s/%s: %s and %s by events, %s and %s in steps", c.scenario, c.variant, a.Verdict, a.UsersVerdict, b.Verdict, b.UsersVerdict)
		}
	}
}
