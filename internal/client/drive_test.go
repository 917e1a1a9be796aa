package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// TestConnectionLimit: what finds no connection before its deadline is missed,
// and what finds one late is late. Nothing is silently left out.
func TestConnectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := users(700*ms, 1)
		g.Arrivals = arrival.Spec{Kind: arrival.Trace, Trace: slices.Repeat([]work.Instant{work.Instant(time.Second)}, 100)}
		var most, open atomic.Int64
		m, r := newMemory(), &recorder{}
		m.serve(t, func(_ http.ResponseWriter, q *http.Request) {
			most.Store(max(most.Load(), open.Add(1)))
			hold(q, 300*ms)
			open.Add(-1)
		})
		gen, err := New(Config{
			Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 142, Horizon: 5 * time.Second,
			Groups: []Group{g},
		})
		if err != nil {
			t.Fatal(err)
		}
		gen.pool.limit = 25 // the least that New takes would never be short
		if err := gen.Run(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		r.conserved(t)
		late := map[time.Duration]int{}
		for _, e := range r.of(ledger.Sent) {
			late[e.Took]++
		}
		if fmt.Sprint(late) != fmt.Sprint(map[time.Duration]int{0: 25, 300 * ms: 25, 600 * ms: 25}) {
			t.Errorf("lateness %v", late)
		}
		if n := len(r.of(ledger.Missed)); n != 25 || gen.Stats().ClientErrors["no_connection"] != 25 {
			t.Errorf("%d missed, %v", n, gen.Stats().ClientErrors)
		}
		if most.Load() != 25 {
			t.Errorf("%d connections, the limit is 25", most.Load())
		}
	})
}

// TestNoCoordinatedOmission: a generator that is held up for a second, here by its
// own recorder, sends what it owes, and says how late it was; latency counts from
// the intended time.
func TestNoCoordinatedOmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), &recorder{}
		m.serve(t, atOnce)
		group := users(2*time.Second, 1)
		group.Arrivals.Rate = 10
		stalled := false
		g, err := New(Config{
			Target: "http://server", Dial: m.dial, VirtualTime: true, MaxConns: 200, Horizon: 5 * time.Second, Groups: []Group{group},
			Record: func(e ledger.Event) {
				r.record(e)
				if !stalled && e.At >= work.Instant(2*time.Second) {
					stalled = true
					time.Sleep(time.Second)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		r.conserved(t)
		if n := len(r.of(ledger.Sent)); n != 50 {
			t.Errorf("%d sent, want all 50", n)
		}
		late, slow := 0, 0
		for _, e := range r.of(ledger.Sent) {
			if e.Took > 100*ms {
				late++
			}
		}
		for _, e := range r.of(ledger.Answered) {
			if e.Took > 100*ms {
				slow++
			}
		}
		if late != 9 || slow != 9 {
			t.Errorf("%d sends say that they were late and %d answers that they took long, want 9 of each", late, slow)
		}
	})
}

// TestTooLate: what the generator comes to after its deadline is missed.
func TestTooLate(t *testing.T) {
	for _, way := range ways {
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newMemory(), &recorder{}
				m.serve(t, atOnce)
				group := users(700*ms, 1)
				group.Wait, group.Protocol = way.wait, way.protocol
				stalled := false
				g, err := New(Config{
					Target: "http://server", Dial: m.dial, VirtualTime: true, MaxConns: 200, Horizon: 5500 * ms, Groups: []Group{group},
					Record: func(e ledger.Event) {
						r.record(e)
						if !stalled && e.Kind == ledger.Wished && e.At >= work.Instant(2*time.Second) {
							stalled = true
							time.Sleep(900 * ms)
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Run(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				if n := len(r.of(ledger.Missed)); n != 1 || g.Stats().ClientErrors["too_late"] != 1 {
					t.Errorf("%d missed, %v", n, g.Stats().ClientErrors)
				}
				if n := len(r.of(ledger.Sent)); n != 5 {
					t.Errorf("%d sent, want 5", n)
				}
			})
		})
	}
}

// TestInterrupt: the end of the context ends the run at once, with what there is.
func TestInterrupt(t *testing.T) {
	for _, way := range ways {
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newMemory(), &recorder{}
				m.serve(t, func(_ http.ResponseWriter, q *http.Request) {
					_, _ = io.Copy(io.Discard, q.Body)
					<-q.Context().Done()
				})
				group := users(time.Hour, 1)
				group.Wait, group.Protocol = way.wait, way.protocol
				g, err := New(Config{
					Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 4000, Groups: []Group{group},
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := errors.New("enough")
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(5500*ms, func() { cancel(stop) })
				if err := g.Run(ctx, began); err != stop {
					t.Errorf("%v, want %v", err, stop)
				}
				if d := time.Since(began); d != 5500*ms {
					t.Errorf("ended after %v", d)
				}
				r.conserved(t)
				if n := g.Stats().InFlight; n != 6 || !g.Stats().Over {
					t.Errorf("%d in flight at the end, want 6", n)
				}
				for _, e := range r.of(ledger.Ended) {
					if e.End != ledger.EndUnfinished {
						t.Errorf("%+v", e)
					}
				}
			})
		})
	}
}

// TestEventsAreConserved: whatever servers and clients do, each request ends once
// and each attempt is where it belongs.
func TestEventsAreConserved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		way := rapid.SampledFrom(ways).Draw(rt, "way")
		spec := retry.Spec{Attempts: rapid.IntRange(1, 4).Draw(rt, "attempts"), Resume: rapid.Bool().Draw(rt, "resume")}
		rate := float64(rapid.IntRange(1, 40).Draw(rt, "rate"))
		behaviours := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 20).Draw(rt, "behaviours")
		limit := rapid.IntRange(1, 30).Draw(rt, "connections")
		var n atomic.Int64
		h := func(w http.ResponseWriter, q *http.Request) {
			switch behaviours[int(n.Add(1))%len(behaviours)] {
			case 0:
				hold(q, 10*ms)
			case 1:
				w.WriteHeader(http.StatusServiceUnavailable)
			case 2:
				hold(q, 300*ms) // the deadline
				w.WriteHeader(http.StatusAccepted)
			case 3:
				hold(q, time.Hour)
			case 4:
				panic(http.ErrAbortHandler)
			case 5:
				w.Header().Set("Connection", "close")
			case 6:
				hold(q, 299*ms)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			m, r := newMemory(), &recorder{}
			m.serve(t, h)
			g, err := New(Config{
				Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 1000, Horizon: 3 * time.Second,
				Groups: []Group{{
					Population: population.Spec{Name: "users", Patience: 300 * ms, Retry: spec}, Wait: way.wait, Protocol: way.protocol,
					Arrivals: arrival.Spec{Kind: arrival.Poisson, Rate: rate},
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if g.pool != nil {
				g.pool.limit = limit
			}
			if err := g.Run(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if !spec.Resume { // a resume that is missed has the number of the attempt that it did not join
				r.conserved(t)
			}
			sent, answered := len(r.of(ledger.Sent))+len(r.of(ledger.Resumed)), len(r.of(ledger.Answered))
			if open := sent - answered; open < 0 || open > g.Stats().InFlight+len(r.of(ledger.Missed)) {
				t.Errorf("sent %d, answered %d, in flight %d", sent, answered, g.Stats().InFlight)
			}
		})
	})
}
