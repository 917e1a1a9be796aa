package sim

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"shedload/internal/ledger"
	"shedload/test/need"
)

// below is a system with even arrivals below capacity: two kinds of requests, a
// queue that comes and goes, and nothing late.
const below = `name: below
horizon: 20s
server: {discipline: fifo}
backend: {workers: %d, service_time: "%s"}
clients:
  - {name: users, arrivals: even, rate: %v, patience: 1s, retry: {attempts: 3}}
  - {name: batches, arrivals: onoff, rate: %v, on: 50ms, off: 450ms, patience: 1s, retry: {attempts: 3}}
`

// TestShedsAndLimitsChangeNothingBelowCapacity: with even arrivals below capacity a
// shed that looks at deadlines, and a limit above the peak that is reached without
// one, leave every number as it was.
func TestShedsAndLimitsChangeNothingBelowCapacity(t *testing.T) {
	need.NoRace(t)
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 8).Draw(rt, "workers")
		service := rapid.SampledFrom([]string{"50ms", "uniform:20ms,60ms", "10ms"}).Draw(rt, "service time")
		plain := inline(t, fmt.Sprintf(below, workers, service, 1, 1))[0]
		capacity := float64(workers) / plain.Backend.ServiceTime.Mean().Seconds()
		share := rapid.Float64Range(0.2, 0.8).Draw(rt, "utilisation")
		text := fmt.Sprintf(below, workers, service, math.Floor(capacity*share/2)+1, math.Floor(capacity*share*4)+1)
		plain = inline(t, text)[0]
		want := run(t, plain)
		s := want.Summary
		if s.Attempts.Late > 0 || s.LatencyMS.Served.Max > 900 {
			rt.Skip("not below capacity after all")
		}
		inSystem := s.Peak.Queue + int64(workers) + 1
		for _, set := range []string{
			"server.discipline=fifo+expired", "server.discipline=deadline(70ms)", "server.discipline=deadline(auto)",
			fmt.Sprintf("server.door=queue_limit:%d", s.Peak.Queue+2), fmt.Sprintf("server.door=in_system:%d", inSystem+1),
			fmt.Sprintf("server.door=concurrency:%d,wait=10ms", inSystem+1), "server.door=infeasible",
		} {
			got := run(t, inline(t, text, set)[0])
			a, b := got.Summary, s
			if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(got.Ledger.Rows(0), want.Ledger.Rows(0)) {
				rt.Fatalf("%s changes the run of\n%s\n%+v\n%+v", set, text, a, b)
			}
		}
	})
}

// TestCoDelCostsNothingAtThreeQuarters: goodput within 1 % at a utilisation of up to
// 75 %, with random arrivals and service times.
func TestCoDelCostsNothingAtThreeQuarters(t *testing.T) {
	need.NoRace(t)
	for _, load := range []struct {
		workers int
		service string
		rate    float64
	}{{4, "50ms", 60}, {4, "uniform:40ms,60ms", 60}, {10, "exp:50ms", 150}, {4, "50ms", 40}} {
		text := fmt.Sprintf(`name: codel
horizon: 300s
server: {discipline: fifo}
backend: {workers: %d, service_time: "%s"}
clients: [{name: users, arrivals: poisson, rate: %v, patience: 1s}]
`, load.workers, load.service, load.rate)
		plain := run(t, inline(t, text)[0]).Summary
		codel := run(t, inline(t, text, "server.discipline=fifo+codel")[0]).Summary
		if a, b := float64(plain.Goodput), float64(codel.Goodput); b < 0.99*a {
			t.Errorf("%+v: goodput %v with CoDel, %v without", load, b, a)
		}
	}
}

// TestScaleOfTimeChangesNothing: all times × k and all rates ÷ k leave all shares
// within 0.1 %. (Wholly the same they are not: drawn times are whole nanoseconds.)
func TestScaleOfTimeChangesNothing(t *testing.T) {
	need.NoRace(t)
	shares := func(s ledger.Summary) []float64 {
		n, r := float64(s.Attempts.Total), float64(s.Requests.Total)
		return []float64{
			float64(s.Attempts.OnTime) / n, float64(s.Attempts.Late) / n, float64(s.Attempts.RefusedTotal) / n, float64(s.Attempts.DroppedTotal) / n,
			float64(s.Requests.Succeeded) / r, float64(s.Requests.GaveUp) / r, s.GoodputShare, s.WastedShare,
		}
	}
	check := func(scenario, variant string, sets ...string) {
		t.Helper()
		want := shares(run(t, changed(t, scenario, []string{variant}, sets...)[0]).Summary)
		for _, k := range []string{"0.5", "2", "10"} {
			s := run(t, changed(t, scenario, []string{variant}, append(sets, "time_scale="+k)...)[0]).Summary
			for i, got := range shares(s) {
				if math.Abs(got-want[i]) > 0.001 {
					t.Errorf("%s/%s × %s: share %d is %v, was %v", scenario, variant, k, i, got, want[i])
				}
			}
		}
	}
	for _, variant := range []string{"unshed", "bounded-expired", "priority", "unshed-budget"} {
		check("retry-storms", variant)
	}
	for _, variant := range []string{"fifo", "lifo", "naive-deadline", "deadline"} {
		check("shed-your-load-short", variant)
	}
	check("metastable-overload", "live-retry-budget", "model.step=0s")
	check("metastable-overload", "retry-budget")
}
