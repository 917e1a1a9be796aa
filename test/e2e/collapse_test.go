package e2e

import (
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/test/need"
)

// TestTheCollapseAndTheCure runs the short form of the published experiment on
// real processes; the expectations stand in the scenario.
func TestTheCollapseAndTheCure(t *testing.T) {
	variants := []string{"shed-your-load-short/fifo", "shed-your-load-short/deadline"}
	if need.All() { // the published run has these two, see below
		variants = []string{"shed-your-load-short/lifo", "shed-your-load-short/naive-deadline"}
	}
	check(t, 4*time.Minute, variants...)
}

// TestShedYourLoadAsPublished runs the published 90 seconds. Each figure must lie
// inside the range of the ideal model with the service time of real processes,
// widened by 5 %; the ranges stand in the scenario.
func TestShedYourLoadAsPublished(t *testing.T) {
	need.Long(t, 190*time.Second)
	fifo := check(t, 5*time.Minute, "shed-your-load/fifo")["fifo"]
	deadline := check(t, 5*time.Minute, "shed-your-load/deadline")["deadline"]
	if fifo.Peak.Queue < 60*deadline.Peak.Queue {
		t.Errorf("peak queue %d under fifo and %d under deadline: want 60 times as much", fifo.Peak.Queue, deadline.Peak.Queue)
	}
}

func check(t *testing.T, bound time.Duration, variants ...string) map[string]ledger.Summary {
	t.Helper()
	args := append([]string{"loadgen", "run", "--check", "--format", "json"}, variants...)
	r := delivered(t, bound, args...)
	if r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	got := summaries(t, r.stdout)
	if len(got) != len(variants) {
		t.Fatalf("%d summaries for %d variants", len(got), len(variants))
	}
	for name, s := range got {
		t.Logf("%s: attempts %d, throughput %d, goodput %d (%d at clients), gave up %d, peak queue %d, peak offered %d/s, lateness p99 %v ms, missed %d",
			name, s.Attempts.Total, s.Throughput, s.Goodput, s.GoodputClient, s.Requests.GaveUp, s.Peak.Queue, s.Peak.OfferedPerS,
			s.Generator.LatenessMS.P99, s.Generator.Missed)
		if !s.Conservation.OK || !s.Generator.Delivered || s.Partial {
			t.Errorf("%s: conservation %+v, generator %+v, partial %v", name, s.Conservation, s.Generator, s.Partial)
		}
	}
	return got
}
