package sim

import (
	"testing"

	"shedload/internal/ledger"
)

// TestBulkheadsTable: each published row.
func TestBulkheadsTable(t *testing.T) {
	p := runAll(t, "bulkheads")
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if got < want-tolerance || got > want+tolerance {
			t.Errorf("%s is %v, want %v ± %v", what, got, want, tolerance)
		}
	}
	unshed := p.of(t, "unshed")
	near("served without shedding", float64(unshed.Requests.Succeeded), 40, 0)
	near("refused without shedding", float64(unshed.Attempts.RefusedTotal), 0, 0)
	near("slowest served without shedding", unshed.LatencyMS.Served.Max, 500, 1)

	shed := p.of(t, "shed")
	near("served with a limit", float64(shed.Requests.Succeeded), 4, 0)
	near("refused with a limit", float64(shed.Attempts.RefusedTotal), 36, 0)
	near("slowest served with a limit", shed.LatencyMS.Served.Max, 50, 1)
	near("time to no with a limit", shed.LatencyMS.ShedWait.P99, 10, 0.1)

	c := p.of(t, "best-effort").Classes
	near("best-effort refused", float64(c["best-effort"].Attempts.Refused["priority"]), 1, 0)
	near("best-effort served", float64(c["best-effort"].Attempts.OnTime), 3, 0)
	near("critical served", float64(c["critical"].Attempts.OnTime), 1, 0)

	load := p.of(t, "load-test")
	if p99 := load.LatencyMS.Served.P99; p99 > 61 { // 50 ms of work and at most 10 of waiting
		t.Errorf("at 150 %% of capacity the 99th percentile of the accepted is %v ms", p99)
	}
}

// Eight healthy calls of 5 ms arrive 10 ms after four that hang for 300: from a shared
// pool none is served before the hanging ones end, behind bulkheads all are within 20 ms.
func TestBulkheadsKeepTheHealthyNeighbourFast(t *testing.T) {
	p := runAll(t, "bulkheads")
	early := func(variant string) ledger.Completed {
		s := p.of(t, variant)
		for _, w := range s.Windows {
			if w.Name == "early" {
				return w.Completed
			}
		}
		t.Fatalf("%s has no early window", variant)
		return ledger.Completed{}
	}
	if n, p50 := early("shared-pool").OnTime, p.of(t, "shared-pool").LatencyMS.Request.P50; n != 0 || p50 < 290 || p50 > 310 {
		t.Errorf("from a shared pool %d healthy calls are early, and the median takes %v ms", n, p50)
	}
	for _, variant := range []string{"bulkheads", "backend-bulkheads"} {
		if c := early(variant); c.OnTime != 8 || c.SojournMS.Max > 21 {
			t.Errorf("%s: %d of 8 healthy calls are early, the slowest in %v ms", variant, c.OnTime, c.SojournMS.Max)
		}
	}
}

// TestASlotIsNeverLost: clients whose patience ends while they wait at the door, or
// while they are served, leave the slots as they were.
func TestASlotIsNeverLost(t *testing.T) {
	// 40 at once in front of four slots, a wait of up to a second at the door, and
	// clients that hang up after 120 ms: two rounds are in time, the third is late,
	// the others go. Four who come later find all slots free.
	p := changed(t, "bulkheads", []string{"best-effort"}, "server.door={kind: concurrency, limit: 4, wait: 1s}",
		"server.cancel_abandoned=true", "backend.workers=4", "backend.service_time=50ms",
		"clients.best-effort={name: best-effort, arrivals: burst, count: 40, patience: 120ms, wait: close}",
		"clients.critical={name: critical, arrivals: burst, count: 4, from: 500ms, patience: 50ms, wait: close}",
		"clients.one-more={name: one-more, arrivals: burst, count: 1, from: 2s, patience: 50ms}")
	s := run(t, p[0]).Summary
	a := s.Classes["best-effort"].Attempts
	if a.OnTime != 8+1 || a.Late != 4 || a.RefusedTotal+a.Canceled != 28 {
		t.Errorf("first: %d on time, %d late, %d refused, %d left", a.OnTime, a.Late, a.RefusedTotal, a.Canceled)
	}
	if c := s.Classes["critical"].Attempts; c.OnTime != 4 {
		t.Errorf("later: %d of 4 on time", c.OnTime)
	}
	if !s.Conservation.OK || s.Attempts.Unfinished != 0 {
		t.Errorf("conservation %+v, %d unfinished", s.Conservation, s.Attempts.Unfinished)
	}
}
