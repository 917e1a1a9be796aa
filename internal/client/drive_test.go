package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/retry"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/work"
)

// at once answers at once.
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

// TestProcessesHaveTheirOwnGates: the requests of one part do not use up the
// budget of the other.
func TestProcessesHaveTheirOwnGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := users(700*ms, 1)
		g.Processes = 2
		r, _ := play(t, Config{Groups: []Group{g}, Horizon: 9500 * ms}, atOnce)
		seen := map[uint64]bool{}
		for _, e := range r.of(ledger.Ended) {
			seen[e.Unit.Request] = true
		}
		if len(seen) != 10 {
			t.Errorf("%d requests, want 10", len(seen))
		}
	})
}

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

// TestCloseAfterPrepare leaves nothing behind; the bubble would notice.
func TestCloseAfterPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, atOnce)
		g, err := New(Config{Target: "http://server", Dial: m.dial, Record: func(ledger.Event) {}, MaxConns: 100, Groups: []Group{users(1, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.Close()
		g.Close()
	})
}

// TestUnreachable is said before anything begins, and counted when it happens later.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, way := range ways {
			m, r := newMemory(), &recorder{}
			_ = m.Close()
			group := one(users(700*ms, 2))
			group.Wait, group.Protocol = way.wait, way.protocol
			g, err := New(Config{
				Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 100, Horizon: 5 * time.Second,
				Groups: []Group{group},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Prepare(t.Context()); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "http://server") {
				t.Errorf("%v", err)
			}
			if err := g.Run(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			r.conserved(t)
			if n := len(r.of(ledger.Missed)); n != 2 || len(r.of(ledger.Sent)) != 0 {
				t.Errorf("%v: %d missed, want 2", way, n)
			}
		}
	})
}

// TestKinds sorts errors as systems return them.
func TestKinds(t *testing.T) {
	dial := func(err error) error { return fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: err}) }
	for want, err := range map[errorKind]error{
		kindDialRefused: dial(syscall.ECONNREFUSED), kindDialTimeout: dial(context.DeadlineExceeded), kindDialFailed: dial(syscall.EMFILE),
		kindReset: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, kindClosedEarly: io.ErrUnexpectedEOF, kindOther: errors.New("?"),
	} {
		if got := kindOf(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	for k := range numErrorKinds {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}

// TestWrongConfig: what cannot be is said by name.
func TestWrongConfig(t *testing.T) {
	tests := []struct {
		want   string
		change func(*Config)
	}{
		{`target "server"`, func(c *Config) { c.Target = "server" }},
		{`target "ftp://server"`, func(c *Config) { c.Target = "ftp://server" }},
		{`target "http://a:b@server"`, func(c *Config) { c.Target = "http://a:b@server" }},
		{"a query", func(c *Config) { c.Target = "http://server/?a=b" }},
		{"no group", func(c *Config) { c.Groups = nil }},
		{"connections: 0", func(c *Config) { c.MaxConns = 0 }},
		{"connections: needs 732 (new requests of one patience, and a reserve), have 100", func(c *Config) {
			c.MaxConns, c.Groups[0].Arrivals.Rate = 100, 1000
			c.Groups[0].Population.Patience = 600 * ms
		}},
		{"nobody records", func(c *Config) { c.Record = nil }},
		{"65 classes", func(c *Config) { c.Classes = make([]work.Class, 65) }},
		{"processes: -1", func(c *Config) { c.Groups[0].Processes = -1 }},
		{`client "users": patience`, func(c *Config) { c.Groups[0].Population.Patience = 0 }},
		{`client "users": arrivals`, func(c *Config) { c.Groups[0].Arrivals.Kind = 99 }},
		{"h2c", func(c *Config) { c.Target, c.Groups[0].Protocol = "https://server", scenario.H2C }},
		{"a body of", func(c *Config) { c.Groups[0].Plain.Body = make([]byte, maxBody+1) }},
		{"method", func(c *Config) { c.Groups[0].Plain.Method = "A B" }},
		{"header name", func(c *Config) { c.Groups[0].Plain.Header = http.Header{"a b": {"c"}} }},
		{"control characters", func(c *Config) { c.Groups[0].Plain.Header = http.Header{"A": {"b\r\nC: d"}} }},
		{"Host is set", func(c *Config) { c.Groups[0].Plain.Header = http.Header{"Host": {"b"}} }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			c := Config{Target: "http://server", MaxConns: 100, Record: func(ledger.Event) {}, Groups: []Group{users(700*ms, 1)}}
			tt.change(&c)
			if _, err := New(c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
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
