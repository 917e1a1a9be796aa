package sim

import (
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// recovery is the published measure: seconds from the trigger's end to the first
// second from which goodput stays at 95 % of the load to the end of the run; 0 if
// it never was below, -1 if it never returns.
func recovery(r Result, load float64, end int) int {
	rows := r.Ledger.Rows(0)
	for i := len(rows) - 1; i >= end; i-- {
		if float64(rows[i].GoodputClient) < 0.95*load {
			if i == len(rows)-1 {
				return -1
			}
			return i + 1 - end
		}
	}
	return 0
}

// TestMetastableOverloadTable: each published change to the one-second model.
func TestMetastableOverloadTable(t *testing.T) {
	p := runAll(t, "metastable-overload")
	const never = -1
	for _, c := range []struct {
		variant     string
		least, most int // seconds to recovery
	}{
		{"as-published", never, never},
		{"trigger-11s", 0, 1},
		{"trigger-12s", never, never},
		{"no-retries", 19, 19},
		{"backoff-8s", never, never},
		{"retry-budget", 40, 40},
		{"drop-abandoned", 0, 0},
		{"queue-limit", 1, 1},
		{"patience-15s", 0, 0},
		{"load-50", 0, 0},
		{"capacity-150", 0, 0},
	} {
		r := p.results[c.variant]
		plan := planOf(t, p, c.variant)
		end := int((plan.Faults[0].At + plan.Faults[0].For) / time.Second)
		got := recovery(r, plan.Clients[0].Arrivals.Rate, end)
		if got < c.least || got > c.most {
			t.Errorf("%s: recovery after %d s, want %d to %d", c.variant, got, c.least, c.most)
		}
		// The verdict that all runs get says the same.
		v := r.Summary.Recovery
		switch {
		case got == never && v.Verdict != ledger.Collapsed,
			got > 0 && (v.Verdict != ledger.Recovered || *v.GoodputAfterS != float64(got)),
			got == 0 && v.GoodputAfterS != nil && *v.GoodputAfterS != 0:
			t.Errorf("%s: recovery after %d s, but the verdict is %s after %v", c.variant, got, v.Verdict, v.GoodputAfterS)
		}
	}
}

func planOf(t *testing.T, p published, variant string) scenario.Plan {
	t.Helper()
	for _, plan := range p.plans {
		if plan.Variant == variant {
			return plan
		}
	}
	t.Fatalf("no variant %s", variant)
	return scenario.Plan{}
}

func TestGoodputFallsToZeroAtFourAttemptsPerRequest(t *testing.T) {
	rows := runAll(t, "metastable-overload").results["as-published"].Ledger.Rows(0)
	var good, finished, requests, attempts int64
	for _, r := range rows[len(rows)-60:] {
		good, finished = good+r.GoodputClient, finished+r.Throughput
		requests, attempts = requests+r.Requests, attempts+r.Offered
	}
	if good != 0 || finished != 60*100 || attempts != 4*requests {
		t.Errorf("in the last minute %d good of %d finished, %d attempts for %d requests", good, finished, attempts, requests)
	}
}

func TestALongerPatienceNeverCollapses(t *testing.T) {
	s := runAll(t, "metastable-overload").of(t, "patience-15s")
	if s.Requests.Succeeded != s.Requests.Total || s.Attempts.Late != 0 {
		t.Errorf("%d of %d requests, %d late", s.Requests.Succeeded, s.Requests.Total, s.Attempts.Late)
	}
}

func TestRoomAbsorbsTheSlowdown(t *testing.T) {
	p := runAll(t, "metastable-overload")
	for _, variant := range []string{"load-50", "capacity-150"} {
		if s := p.of(t, variant); s.Requests.Succeeded != s.Requests.Total {
			t.Errorf("%s: %d of %d requests", variant, s.Requests.Succeeded, s.Requests.Total)
		}
	}
}

// TestEventByEventDiffersFromOneSecondSteps pins down what docs/model.md says about
// the two: the same file, event by event, recovers later or not at all, because its
// arrivals are spread over the second and a patience of 5 s is not one of up to 6.
func TestEventByEventDiffersFromOneSecondSteps(t *testing.T) {
	for variant, want := range map[string]struct {
		verdict string
		after   float64
	}{
		"as-published":   {ledger.Collapsed, 0},
		"trigger-11s":    {ledger.Collapsed, 0},
		"no-retries":     {ledger.Recovered, 21},
		"retry-budget":   {ledger.Recovered, 44},
		"drop-abandoned": {ledger.Collapsed, 0},
		"queue-limit":    {ledger.Recovered, 2},
	} {
		r := run(t, changed(t, "metastable-overload", []string{variant}, "model.step=0s")[0])
		got := r.Summary.Recovery
		if got.Verdict != want.verdict || want.verdict == ledger.Recovered && *got.GoodputAfterS != want.after {
			t.Errorf("%s: %s after %v, want %v", variant, got.Verdict, got.GoodputAfterS, want)
		}
	}
}

// TestHalfASecondOfPatience: most of that difference is patience. One-second rules
// give up at the end of the second in which patience ends, half a second late on
// average; with that half second the events say what the steps say.
func TestHalfASecondOfPatience(t *testing.T) {
	for variant, want := range map[string]struct {
		verdict string
		after   float64
	}{
		"as-published": {ledger.Collapsed, 0},
		"trigger-11s":  {ledger.Recovered, 1},
		"trigger-12s":  {ledger.Collapsed, 0},
		"no-retries":   {ledger.Recovered, 19},
		"retry-budget": {ledger.Recovered, 39}, // published: 40
	} {
		got := run(t, changed(t, "metastable-overload", []string{variant}, "model.step=0s", "clients.users.patience=5500ms")[0]).Summary.Recovery
		if got.Verdict != want.verdict || want.verdict == ledger.Recovered && *got.GoodputAfterS != want.after {
			t.Errorf("%s: %s after %v, want %v", variant, got.Verdict, got.GoodputAfterS, want)
		}
	}
}
