package worker_test

import (
	"context"
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
