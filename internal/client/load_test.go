package client

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/service"
	"shedload/internal/work"
)

// atOnce answers at once.
func atOnce(http.ResponseWriter, *http.Request) {}

// TestSpikeAndRate change a running load: the counts per second are exact.
func TestSpikeAndRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), &recorder{}
		m.serve(t, atOnce)
		group := users(700*ms, 1)
		group.Arrivals.Rate = 10
		g, err := New(Config{
			Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 200, Horizon: 10 * time.Second,
			Groups: []Group{group}, Phases: []arrival.Phase{{Name: "early", At: time.Second, For: time.Second, Factor: 2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.AddPhase(arrival.Phase{Name: "first", For: time.Second, Factor: 1.5}); err != nil {
			t.Error(err)
		}
		if err := g.AddPhase(arrival.Phase{Name: "bad", For: time.Second}); err == nil {
			t.Error("a phase that says nothing was taken")
		}
		if err := g.AddPhase(arrival.Phase{Name: "bad", For: time.Second, Factor: 2, Client: "nobody"}); err == nil {
			t.Error("a phase for nobody was taken")
		}
		if err := g.SetRate("nobody", 5); err == nil {
			t.Error("a rate for nobody was taken")
		}
		done := make(chan error)
		go func() { done <- g.Run(t.Context(), time.Now()) }()
		time.Sleep(3 * time.Second)
		if err := g.AddPhase(arrival.Phase{Name: "spike", For: 2 * time.Second, Rate: 40}); err != nil {
			t.Error(err)
		}
		time.Sleep(ms)
		if stats := g.Stats(); stats.Rate != 40 || stats.Phase != "spike" {
			t.Errorf("%+v", stats)
		}
		time.Sleep(4 * time.Second)
		if err := g.SetRate("users", 0); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := g.SetRate("", 30); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		counts := make([]int, 10)
		for _, e := range r.of(ledger.Sent) {
			counts[e.At/work.Instant(time.Second)]++
			if e.Took != 0 {
				t.Errorf("%v late", e.Took)
			}
		}
		if want := []int{15, 20, 10, 40, 40, 10, 10, 1, 29, 30}; !slices.Equal(counts, want) {
			t.Errorf("sent per second %v, want %v", counts, want)
		}
	})
}

// TestClosedLoop: users that think.
func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := users(700*ms, 1)
		g.Arrivals = arrival.Spec{}
		g.Population.Users = 10
		g.Population.Think = service.Spec{Kind: service.Fixed, A: time.Second}
		g.Processes = 3
		r, _ := play(t, Config{Groups: []Group{g}, Horizon: 9500 * ms}, func(_ http.ResponseWriter, q *http.Request) { hold(q, 500*ms) })
		// Think 1 s, wait 0.5 s: at 1, 2.5, 4, 5.5, 7, 8.5 s.
		if n := len(r.of(ledger.Sent)); n != 60 {
			t.Errorf("%d sent, want 60", n)
		}
	})
}

// TestProcessesHaveTheirOwnGates: each of them has one retry to spend.
func TestProcessesHaveTheirOwnGates(t *testing.T) {
	for processes := 1; processes <= 3; processes++ {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := users(700*ms, 2)
				token, nothing := retry.Thousandths(1000), retry.Thousandths(0)
				g.Population.Gates = []retry.GateSpec{{Kind: retry.TokenBucket, Capacity: &token, Earn: &nothing}}
				g.Processes = processes
				r, stats := play(t, Config{Groups: []Group{g}, Horizon: 9500 * ms}, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusServiceUnavailable)
				})
				if n := len(r.of(ledger.Sent)); n != 10+processes {
					t.Errorf("%d sent, want ten and a retry for each of %d processes", n, processes)
				}
				if got := stats.Groups[0]; got.Name != "users" || got.Open != 0 || got.Gates.Budgets != 1 || got.Gates.Balance != 0 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}
