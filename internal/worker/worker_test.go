package worker_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/draw"
	"shedload/internal/service"
	"shedload/internal/work"
	"shedload/internal/worker"
	"shedload/test/bubble"
)

func TestWorkersAreNeverIdleWhileThereIsWork(t *testing.T) {
	for _, n := range []int{1, 4, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, options{workers: n, service: "50ms"}, func(r *rig) {
				r.enqueue(40 * n)
				start := time.Now()
				for r.server.Gauges().Queued > 0 {
					time.Sleep(time.Millisecond)
					if g := r.server.Gauges(); g.InService > n {
						t.Fatalf("%d units leased to %d workers", g.InService, n)
					}
				}
				took := time.Since(start)
				time.Sleep(100 * time.Millisecond)
				expect(t, "finished", r.totals().OnTime, int64(40*n))
				// 40 rounds less what was done while the queue was filled.
				if most := 40*50*time.Millisecond + 40*time.Millisecond; took > most {
					t.Errorf("took %v, at most %v is right", took, most)
				}
				if x := r.worker.Numbers().Exchanges; x > int64(40*n)+10 {
					t.Errorf("%d requests for %d units", x, 40*n)
				}
			})
		})
	}
}

func TestServiceTimesAreTheModels(t *testing.T) {
	const spec = "lognormal:50ms,p99=200ms"
	parsed, err := service.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, options{workers: 1, service: spec}, func(r *rig) {
		for _, attempt := range []uint16{1, 2} {
			before := r.totals().Work
			expect(t, "status", r.post("X-Request-Id: 99", fmt.Sprint("X-Attempt: ", attempt), "Prefer: wait=10"), 200)
			want := parsed.Draw(draw.Seed(7).For(draw.Key{Purpose: draw.Service, Request: 99, Attempt: attempt}))
			got := r.totals().Work - before
			if d := got - want; d < -time.Microsecond || d > time.Microsecond { // reports carry microseconds
				t.Errorf("attempt %d took %v, the model says %v", attempt, got, want)
			}
		}
	})
}

func TestClassesHaveTheirOwnServiceTimes(t *testing.T) {
	classes := []work.Class{{Name: "fast"}, {Name: "slow"}}
	inBubble(t, options{workers: 2, service: "50ms", classes: classes, perClass: []service.Spec{{}, {A: 400 * time.Millisecond}}}, func(r *rig) {
		start := time.Now()
		r.post("X-Class: fast", "Prefer: wait=10")
		expect(t, "fast", time.Since(start), 50*time.Millisecond)
		start = time.Now()
		r.post("X-Class: slow", "Prefer: wait=10")
		expect(t, "slow", time.Since(start), 400*time.Millisecond)
	})
}

func TestWorkDegradesUnderTheServersLoad(t *testing.T) {
	inBubble(t, options{workers: 1, service: "100ms", degrade: "1,max=3"}, func(r *rig) {
		var wg sync.WaitGroup
		start := time.Now()
		for range 2 {
			wg.Go(func() { r.post("Prefer: wait=10") })
		}
		wg.Wait()
		// Whether the second is queued when the first starts is a matter of order.
		if took := time.Since(start); took != 200*time.Millisecond && took != 300*time.Millisecond {
			t.Errorf("took %v", took)
		}
		r.enqueue(1)
		time.Sleep(50 * time.Millisecond)
		r.enqueue(9)
		before := r.totals().Work
		time.Sleep(60 * time.Millisecond) // now the second of ten runs, at load 9
		time.Sleep(300 * time.Millisecond)
		if got := r.totals().Work - before; got != 400*time.Millisecond {
			t.Errorf("work of the first two: %v, want 100ms and 300ms", got)
		}
		time.Sleep(10 * time.Second)
	})
}

func TestShutdownFinishesWhatRuns(t *testing.T) {
	inBubble(t, options{workers: 4, service: "500ms"}, func(r *rig) {
		r.enqueue(10)
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		r.stop()
		synctest.Wait()
		code, _ := r.call("GET", "/readyz", "")
		expect(t, "ready", code, 503)
		r.done <- <-r.done
		if d := time.Since(start) - 400*time.Millisecond; d < 0 || d > 4*time.Millisecond {
			t.Errorf("ended after %v, want 400ms and the spacing of requests", time.Since(start))
		}
		expect(t, "finished", r.totals().OnTime, 4)
		expect(t, "left", r.server.Gauges().Queued, 6)
		time.Sleep(time.Minute)
		expect(t, "lost", r.totals().Lost, 0)
		expect(t, "workers", r.server.Gauges().Workers, 0)
	})
}

func TestShutdownOfAnIdleWorkerIsImmediate(t *testing.T) {
	inBubble(t, options{workers: 4, service: "50ms"}, func(r *rig) {
		time.Sleep(time.Second)
		start := time.Now()
		r.stop()
		r.done <- <-r.done
		expect(t, "ended after", time.Since(start), 0)
		expect(t, "polls", r.server.Gauges().Polls, 0)
	})
}

func TestShutdownWithoutAServerEndsAfterTheGrace(t *testing.T) {
	inBubble(t, options{workers: 1, service: "1h", timeout: time.Second}, func(r *rig) {
		r.enqueue(1)
		time.Sleep(time.Second)
		r.conns.cut()
		start := time.Now()
		r.stop()
		r.done <- <-r.done
		expect(t, "ended after", time.Since(start), 10*time.Second)
		expect(t, "lost", r.totals().Lost, 1)
	})
}

func TestAKilledWorkerLeavesLostUnits(t *testing.T) {
	inBubble(t, options{workers: 4, service: "500ms", timeout: 2 * time.Second}, func(r *rig) {
		r.enqueue(10)
		time.Sleep(100 * time.Millisecond)
		r.conns.cut()
		time.Sleep(3 * time.Second)
		expect(t, "lost", r.totals().Lost, 4)
		expect(t, "still queued", r.server.Gauges().Queued, 6)
		r.conserved()
		// It was not killed after all: its reports are stale, and it works again.
		r.conns.mend()
		time.Sleep(10 * time.Second)
		expect(t, "stale", r.totals().Stale, 4)
		expect(t, "stale, by the worker", r.worker.Numbers().Stale, 4)
		expect(t, "wasted, by the worker", r.worker.Numbers().Wasted, 2*time.Second)
		expect(t, "finished", r.totals().OnTime, 6)
	})
}

func TestAWorkerSurvivesARestartOfTheServer(t *testing.T) {
	o := options{workers: 4, service: "500ms"}
	inBubble(t, o, func(r *rig) {
		r.enqueue(4)
		time.Sleep(100 * time.Millisecond)
		old := r.server
		old.end()
		dials := r.conns.dialed()
		time.Sleep(30 * time.Second)
		code, body := r.call("GET", "/readyz", "")
		expect(t, "ready", code, 503)
		if !strings.Contains(body, "does not answer") {
			t.Errorf("body %q", body)
		}
		// 5 s apart in the end: 30 s are a dozen tries, not thousands.
		if n := r.conns.dialed() - dials; n < 6 || n > 20 {
			t.Errorf("%d tries in 30 s", n)
		}
		r.server = r.serve(o)
		time.Sleep(6 * time.Second)
		expect(t, "status", r.post("Prefer: wait=10"), 200)
		expect(t, "stale", r.worker.Numbers().Stale, 4) // the old server's leases mean nothing to the new one
		code, _ = r.call("GET", "/readyz", "")
		expect(t, "ready again", code, 200)
	})
}

func TestLateWorkIsCountedAsWasted(t *testing.T) {
	inBubble(t, options{workers: 1, service: "500ms"}, func(r *rig) {
		expect(t, "status", r.post("X-Request-Timeout-Ms: 100", "Prefer: wait=10"), 202)
		time.Sleep(time.Second)
		n := r.worker.Numbers()
		expect(t, "late", n.Late, 1)
		expect(t, "wasted", n.Wasted, 500*time.Millisecond) // not cut short
		expect(t, "late, by the server", r.totals().Late, 1)
	})
}

// TestHostileServers answers a worker with what no server should say.
func TestHostileServers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"400": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere/", http.StatusTemporaryRedirect)
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"huge":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(" ", 9<<20)) },
		"bad request": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"leases":[{"lease":"x","request":"-1"}]}`)
		},
		"stale lies": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(409)
			_, _ = io.WriteString(w, `{"stale":["x","x"]}`)
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := bubble.NewNet()
				l, err := n.Listen("workers:80")
				if err != nil {
					t.Fatal(err)
				}
				srv := &http.Server{Handler: h}
				go srv.Serve(l)
				w, err := worker.New(worker.Config{API: "http://workers:80", Name: "w", Workers: 3, Model: model(t, options{service: "1ms"}), Dial: n.Dial, Grace: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := w.Run(ctx); err != nil {
					t.Error(err)
				}
				got := w.Numbers()
				if most := int64(2100); got.Exchanges+got.Failures > most || got.Busy != 0 {
					t.Errorf("%+v: over %d requests, or busy", got, most)
				}
				_ = srv.Close()
			})
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := func() worker.Config {
		return worker.Config{API: "http://x", Name: "n", Workers: 1, Model: model(t, options{service: "1ms"})}
	}
	if _, err := worker.New(good()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*worker.Config){
		"URL":     func(c *worker.Config) { c.API = "" },
		"name":    func(c *worker.Config) { c.Name = "" },
		"workers": func(c *worker.Config) { c.Workers = 0 },
		"10000":   func(c *worker.Config) { c.Workers = worker.MaxWorkers + 1 },
		"model":   func(c *worker.Config) { c.Model = nil },
		"classes": func(c *worker.Config) { c.Classes = make([]string, 65) },
	} {
		c := good()
		change(&c)
		if _, err := worker.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
