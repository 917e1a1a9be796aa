package sim

import "testing"

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

	// Eight healthy calls that arrive 10 ms after four hanging ones.
	pool := p.of(t, "shared-pool")
	for _, w := range pool.Windows {
		if w.Name == "early" {
			near("healthy calls served early from a shared pool", float64(w.Completed.OnTime), 0, 0)
		}
	}
	near("healthy calls from a shared pool", pool.LatencyMS.Request.P50, 300, 10)
	for _, w := range p.of(t, "bulkheads").Windows {
		if w.Name == "early" {
			near("healthy calls served early behind bulkheads", float64(w.Completed.OnTime), 8, 0)
			near("slowest healthy call behind bulkheads", w.Completed.SojournMS.Max, 20, 1)
		}
	}

	c := p.of(t, "best-effort").Classes
	near("best-effort refused", float64(c["best-effort"].Attempts.Refused["priority"]), 1, 0)
	near("best-effort served", float64(c["best-effort"].Attempts.OnTime), 3, 0)
	near("critical served", float64(c["critical"].Attempts.OnTime), 1, 0)

	load := p.of(t, "load-test")
	if p99 := load.LatencyMS.Served.P99; p99 > 61 { // 50 ms of work and at most 10 of waiting
		t.Errorf("at 150 %% of capacity the 99th percentile of the accepted is %v ms", p99)
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
