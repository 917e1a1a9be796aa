package bubble_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/api"
	"shedload/internal/client"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/worker"
	"shedload/scenarios"
	"shedload/test/bubble"
)

// The listeners of the apiserver.
const (
	publicURL  = "http://public:80"
	workersURL = "http://workers:80"
	adminURL   = "http://admin:80"
)

// system is an apiserver, a backend and a load generator in one bubble, put
// together as the programs put them together, with HTTP between them.
//
//	client.Generator ── public ──┐
//	                             ├── api.Server
//	worker.Worker ──── workers ──┘      │
//	the test ───────── admin ───────────┘
type system struct {
	t    *testing.T
	plan scenario.Plan
	net  *bubble.Net
	tap  *tap

	server    *api.Server
	http      []*http.Server
	serving   sync.WaitGroup
	stopTicks context.CancelFunc
	admin     *http.Client

	backends []*backend

	start     time.Time // instant 0
	generator *client.Generator
	ledger    *ledger.Ledger // under the generator's lock
	merged    int            // rows of the server's view
}

// backend is one worker process on a machine of its own.
type backend struct {
	*worker.Worker
	host *bubble.Host
	stop context.CancelFunc
	done chan error
}

// inBubble runs f with the plan's system in virtual time. In the end everything
// is shut down; the bubble fails when a goroutine outlives that.
func inBubble(t *testing.T, plan scenario.Plan, f func(*system)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, plan)
		defer s.close()
		f(s)
	})
}

// load returns a plan of the short scenario, changed by path=value.
func load(t *testing.T, variant string, sets ...string) scenario.Plan {
	t.Helper()
	s, err := scenario.Load("shed-your-load-short", scenarios.Open)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans([]string{variant}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

// small is a quarter of the short scenario: one worker, and a quarter of each rate.
var small = []string{
	"backend.workers=1", "clients.users.rate=15", "phases.spike.rate=100", "recovery.reference=15",
}

func newSystem(t *testing.T, plan scenario.Plan) *system {
	t.Helper()
	s := &system{t: t, plan: plan, net: bubble.NewNet(), tap: &tap{}}
	station := plan.Station()
	station.Workers = 0 // the backends say how many they are
	var err error
	s.server, err = api.New(api.Config{
		Station: station, SilentDrops: plan.Server.SilentDrops, CancelAbandoned: plan.Server.CancelAbandoned,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.stopTicks = cancel
	s.serving.Go(func() {
		if err := s.server.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	s.listen("public:80", s.tap.public(s.server.Public()))
	s.listen("workers:80", s.tap.workers(s.server.Workers()))
	s.listen("admin:80", s.server.Admin())
	s.admin = &http.Client{Transport: &http.Transport{DialContext: s.net.Dial}}
	s.addBackend()
	return s
}

// listen serves with the time limits of the programs.
func (s *system) listen(addr string, h http.Handler) {
	s.t.Helper()
	l, err := s.net.Listen(addr)
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	s.http = append(s.http, server)
	s.serving.Go(func() {
		if err := server.Serve(l); err != http.ErrServerClosed {
			s.t.Error(err)
		}
	})
}

// addBackend starts a backend with the plan's workers.
func (s *system) addBackend() *backend {
	s.t.Helper()
	model, err := service.New(s.plan.Service())
	if err != nil {
		s.t.Fatal(err)
	}
	b := &backend{host: s.net.Host(), done: make(chan error, 1)}
	b.Worker, err = worker.New(worker.Config{
		API: workersURL, Name: fmt.Sprintf("backend-%d", len(s.backends)+1), Workers: s.plan.Backend.Workers,
		Model: model, Classes: s.plan.ClassNames(), Dial: b.host.Dial,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.t.Context())
	b.stop = stop
	go func() { b.done <- b.Run(ctx) }()
	s.backends = append(s.backends, b)
	return b
}

// close shuts down what a test has left running.
func (s *system) close() {
	s.t.Helper()
	for _, b := range s.backends {
		b.stop()
		if err := <-b.done; err != nil {
			s.t.Error(err)
		}
	}
	s.admin.CloseIdleConnections()
	s.hangUp()
}

// hangUp ends the apiserver's process: its listeners and its ticks.
func (s *system) hangUp() {
	s.stopTicks()
	for _, server := range s.http {
		_ = server.Close() // nobody listens to what it says
	}
	s.serving.Wait()
}

// call sends JSON to the admin listener and decodes the answer.
func (s *system) call(method, path string, in, out any) {
	s.t.Helper()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			s.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, adminURL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.admin.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		s.t.Fatalf("%s %s: %d %s: %v", method, path, response.StatusCode, text, err)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(text, out); err != nil {
		s.t.Fatal(err)
	}
}
