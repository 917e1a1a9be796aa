package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/api"
	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/queue"
	"shedload/internal/service"
	"shedload/internal/station"
	"shedload/internal/work"
	"shedload/internal/worker"
	"shedload/test/bubble"
)

// rig is an API server and a worker process in one bubble, with HTTP between them.
type rig struct {
	t      *testing.T
	net    *bubble.Net
	conns  conns
	server *server
	worker *worker.Worker
	admin  http.Handler
	client *http.Client
	done   chan error // of the worker
	stop   context.CancelFunc
}

// server is one life of an API server.
type server struct {
	*api.Server
	end func()
}

// conns remembers the worker's connections, so that a test can cut them.
type conns struct {
	mu     sync.Mutex
	open   []net.Conn
	dials  int
	broken bool
}

func (c *conns) dial(n *bubble.Net) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dials++
		if c.broken {
			return nil, io.ErrClosedPipe
		}
		conn, err := n.Dial(ctx, network, addr)
		if err == nil {
			c.open = append(c.open, conn)
		}
		return conn, err
	}
}

func (c *conns) dialed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dials
}

func (c *conns) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = false
}

// cut closes all connections at once and lets none be made: to the server, the
// process was killed.
func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	for _, conn := range c.open {
		_ = conn.Close()
	}
}

type options struct {
	workers  int
	service  string
	degrade  string
	classes  []work.Class
	perClass []service.Spec
	timeout  time.Duration
}

func inBubble(t *testing.T, o options, f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, o)
		f(r)
		r.stop()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		r.conserved()
		r.client.CloseIdleConnections()
		r.server.end()
	})
}

func newRig(t *testing.T, o options) *rig {
	t.Helper()
	r := &rig{t: t, net: bubble.NewNet(), done: make(chan error, 1)}
	r.client = &http.Client{Transport: &http.Transport{DialContext: r.net.Dial}}
	r.server = r.serve(o)
	r.worker = newWorker(t, r, o)
	r.admin = r.worker.Admin()
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.done <- r.worker.Run(ctx) }()
	return r
}

func newWorker(t *testing.T, r *rig, o options) *worker.Worker {
	t.Helper()
	w, err := worker.New(worker.Config{
		API: "http://workers:80/", Name: "backend-1", Workers: max(o.workers, 1), Model: model(t, o), Classes: names(o.classes), Dial: r.conns.dial(r.net),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func model(t testing.TB, o options) *service.Model {
	t.Helper()
	spec, err := service.ParseSpec(o.service)
	if err != nil {
		t.Fatal(err)
	}
	degrade, err := service.ParseDegrade(o.degrade)
	if err != nil {
		t.Fatal(err)
	}
	m, err := service.New(service.Config{Seed: 7, ServiceTime: spec, Classes: names(o.classes), PerClass: o.perClass, Degrade: degrade})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func names(classes []work.Class) []string {
	var n []string
	for _, c := range classes {
		n = append(n, c.Name)
	}
	return n
}

// serve starts an API server on the network.
func (r *rig) serve(o options) *server {
	r.t.Helper()
	d, err := queue.ParseDiscipline("fifo")
	if err != nil {
		r.t.Fatal(err)
	}
	timeout := o.timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	s, err := api.New(api.Config{Station: station.Config{Queue: queue.Config{Discipline: d}, Classes: o.classes, LeaseTimeout: timeout}})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	running := make(chan error, 1)
	go func() { running <- s.Run(ctx) }()
	var servers []*http.Server
	for addr, h := range map[string]http.Handler{"public:80": s.Public(), "workers:80": s.Workers()} {
		l, err := r.net.Listen(addr)
		if err != nil {
			r.t.Fatal(err)
		}
		srv := &http.Server{Handler: h}
		servers = append(servers, srv)
		go srv.Serve(l)
	}
	return &server{s, func() {
		for _, srv := range servers {
			_ = srv.Close()
		}
		cancel()
		<-running
	}}
}

// post starts an operation and waits for its end; it returns the status.
func (r *rig) post(headers ...string) int {
	req, err := http.NewRequestWithContext(r.t.Context(), "POST", "http://public:80/v1/operations", nil)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// enqueue starts n operations that nobody waits for, with request ids from 1.
func (r *rig) enqueue(n int) {
	r.t.Helper()
	for i := range n {
		if got := r.post(fmt.Sprintf("X-Request-Id: %d", i+1)); got != 202 {
			r.t.Fatalf("status %d", got)
		}
	}
}

func (r *rig) totals() *ledger.ServerTotals {
	var t ledger.Totals
	r.server.Ledger(func(l *ledger.Ledger) { t = l.Totals() })
	return &t.ServerTotals
}

func (r *rig) conserved() {
	r.t.Helper()
	v := r.server.LedgerView(0)
	var pending int64
	for i := range v.Totals {
		pending += v.Totals[i].Pending()
	}
	if pending != *v.Held {
		r.t.Errorf("pending: %d by the totals, %d held", pending, *v.Held)
	}
}

// fault puts a fault.
func (r *rig) fault(body string) (int, string) { return r.call("PUT", "/v1/faults", body) }

func (r *rig) call(method, path, body string) (int, string) {
	w := newRecorder()
	req, err := http.NewRequest(method, "http://admin"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	r.admin.ServeHTTP(w, req)
	return w.code, w.body.String()
}

type recorder struct {
	code   int
	header http.Header
	body   strings.Builder
}

func newRecorder() *recorder { return &recorder{code: 200, header: http.Header{}} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

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

func TestFaults(t *testing.T) {
	wait := "Prefer: wait=60"
	for _, c := range []struct {
		name, fault string
		want        time.Duration // for four units on two workers
	}{
		{"none", ``, 100 * time.Millisecond},
		{"service time", `{"for":"5s","service_time":"200ms"}`, 400 * time.Millisecond},
		{"factor", `{"for":"5s","factor":3}`, 300 * time.Millisecond},
		{"capacity", `{"for":"5s","capacity_share":0.5}`, 200 * time.Millisecond},
		{"pause", `{"for":"1s","pause":true}`, 1100 * time.Millisecond},
		{"pause while working", `{"at":"20ms","for":"1s","pause":true}`, 1100 * time.Millisecond},
		{"hang", `{"for":"2s","hang":true}`, 2050 * time.Millisecond},
		{"hang of another class", `{"for":"2s","hang":true,"class":"other"}`, 100 * time.Millisecond},
		{"over before", `{"for":"1ms","factor":100}`, 100 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, options{workers: 2, service: "50ms", classes: []work.Class{{Name: "a"}, {Name: "other"}}}, func(r *rig) {
				if c.fault != "" {
					if code, body := r.fault(c.fault); code != 204 {
						t.Fatalf("%d %q", code, body)
					}
				}
				time.Sleep(time.Millisecond)
				start := time.Now()
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() { expect(t, "status", r.post(wait), 200) })
				}
				wg.Wait()
				if d := time.Since(start) - c.want; d < -2*time.Millisecond || d > 2*time.Millisecond {
					t.Errorf("took %v, want %v", time.Since(start), c.want)
				}
				time.Sleep(10 * time.Second)
				_, body := r.call("GET", "/v1/faults", "")
				expect(t, "faults at last", body, "{\"faults\":[]}\n")
			})
		})
	}
}

func TestAPauseThatComesLaterStretchesRunningWork(t *testing.T) {
	inBubble(t, options{workers: 1, service: "100ms"}, func(r *rig) {
		start := time.Now()
		status := make(chan int, 1)
		go func() { status <- r.post("Prefer: wait=60") }()
		time.Sleep(40 * time.Millisecond)
		r.fault(`{"for":"1s","pause":true}`)
		_, body := r.call("GET", "/v1/faults", "")
		expect(t, "faults", body, `{"faults":[{"for":"1s","pause":true,"ends_in":"1s"}]}`+"\n")
		_, body = r.call("GET", "/v1/worker", "")
		var numbers struct{ Capacity, Busy int }
		if err := json.Unmarshal([]byte(body), &numbers); err != nil {
			t.Fatal(err)
		}
		expect(t, "capacity", numbers.Capacity, 0)
		expect(t, "busy", numbers.Busy, 1)
		expect(t, "status", <-status, 200)
		expect(t, "took", time.Since(start), 1100*time.Millisecond)
	})
}

func TestWrongFaultsChangeNothing(t *testing.T) {
	inBubble(t, options{workers: 1, service: "50ms"}, func(r *rig) {
		for body, want := range map[string]string{
			``:                                      "body",
			`{}`:                                    "effects",
			`{"for":"10s"}`:                         "effects",
			`{"for":10,"pause":true}`:               "for",
			`{"for":"ten","pause":true}`:            "10s",
			`{"for":"10s","pause":true,"factor":2}`: "effects",
			`{"for":"10s","factor":-1}`:             "factor",
			`{"for":"10s","capacity_share":2}`:      "capacity_share",
			`{"for":"10s","hang":true,"class":"x"}`: "class",
			`{"for":"10s","service_time":"fast"}`:   "fast",
			`{"for":"10s","pauze":true}`:            "capacity_share, pause, hang",
			`{"for":"10s","pause":true} true`:       "something follows",
		} {
			if code, got := r.fault(body); code != 400 || !strings.Contains(got, want) {
				t.Errorf("%s: %d %q, want 400 with %q", body, code, got, want)
			}
		}
		_, body := r.call("GET", "/v1/faults", "")
		expect(t, "faults", body, "{\"faults\":[]}\n")
		code, _ := r.call("DELETE", "/v1/faults", "")
		expect(t, "method", code, 405)
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
		"500":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"400":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://elsewhere/", 307) },
		"no JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"huge":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(" ", 9<<20)) },
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
