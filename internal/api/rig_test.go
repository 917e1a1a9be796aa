package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/queue"
	"shedload/internal/station"
	"shedload/internal/work"
	"shedload/test/bubble"
)

// rig is a server with its three listeners on a network in memory, in virtual time.
type rig struct {
	*Server
	t      *testing.T
	net    *bubble.Net
	client *http.Client
	close  func()
	// reports is for requests that nobody cancels.
	reports *http.Client
}

const (
	publicURL  = "http://public:80"
	workersURL = "http://workers:80"
	adminURL   = "http://admin:80"
)

// inBubble runs f against a server; change adapts its configuration. At the end
// the books must balance, and nothing may be left running.
func inBubble(t *testing.T, change func(*Config), f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, change)
		defer r.close()
		f(r)
		r.conserved()
	})
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	c := Config{Station: station.Config{Queue: queue.Config{Discipline: discipline(t, "fifo")}, LeaseTimeout: 10 * time.Second}}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Server: s, t: t, net: bubble.NewNet()}
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- s.Run(ctx) }()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	var servers []*http.Server
	for addr, h := range map[string]http.Handler{"public:80": s.Public(), "workers:80": s.Workers(), "admin:80": s.Admin()} {
		l, err := r.net.Listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: h, Protocols: protocols}
		servers = append(servers, srv)
		go srv.Serve(l)
	}
	newClient := func() *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: r.net.Dial, MaxIdleConnsPerHost: 1000}}
	}
	r.client, r.reports = newClient(), newClient()
	r.close = func() {
		r.client.CloseIdleConnections()
		r.reports.CloseIdleConnections()
		for _, srv := range servers {
			if err := srv.Close(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second) // net/http keeps a connection for 500 ms after a body that was too large
		cancel()
		if err := <-running; err != nil {
			t.Error(err)
		}
	}
	return r
}

func discipline(t testing.TB, text string) queue.Discipline {
	t.Helper()
	d, err := queue.ParseDiscipline(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// reply is an answer, and when it came.
type reply struct {
	status int
	header http.Header
	body   string
	at     work.Instant
}

// state is the JSON of an operation or a problem.
type state struct {
	ID         string
	State      string
	Reason     string
	Waited     float64  `json:"waited_ms"`
	FinishedIn *float64 `json:"finished_in_ms"`
	Detail     string
	Status     int
	Stale      []string
}

func (r reply) state(t *testing.T) state {
	t.Helper()
	var s state
	if err := json.Unmarshal([]byte(r.body), &s); err != nil {
		t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	return s
}

// do sends a request; headers are "Name: value" lines.
func (r *rig) do(ctx context.Context, method, url, body string, headers ...string) (reply, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return reply{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header[http.CanonicalHeaderKey(name)] = append(req.Header[http.CanonicalHeaderKey(name)], value)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), r.clock()}, err
}

func (r *rig) must(method, url, body string, headers ...string) reply {
	r.t.Helper()
	got, err := r.do(r.t.Context(), method, url, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// post starts an operation.
func (r *rig) post(headers ...string) reply {
	r.t.Helper()
	return r.must("POST", publicURL+"/v1/operations", "", headers...)
}

// async runs f and returns where its reply will be.
func async(f func() reply) <-chan reply {
	c := make(chan reply, 1)
	go func() { c <- f() }()
	synctest.Wait()
	return c
}

// leases is the JSON answer to a worker.
type leasesJSON struct {
	Leases []struct {
		Lease, Operation, Request, Class string
		Attempt                          int
		TimeoutMS                        string `json:"timeout_ms"`
	}
	Load struct {
		Queued, Workers int
		InService       int `json:"in_service"`
	}
}

func (r reply) leases(t *testing.T) leasesJSON {
	t.Helper()
	var l leasesJSON
	if r.status != http.StatusOK {
		t.Fatalf("leases: %d %q", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func (r *rig) lease(body string) reply {
	r.t.Helper()
	return r.must("POST", workersURL+"/v1/leases", body)
}

// take leases one unit and returns its lease.
func (r *rig) take() string {
	r.t.Helper()
	l := r.lease(`{"worker":"w","want":1}`).leases(r.t)
	if len(l.Leases) != 1 {
		r.t.Fatalf("%d leases, want 1", len(l.Leases))
	}
	return l.Leases[0].Lease
}

// finish reports a unit as done.
func (r *rig) finish(lease string) reply {
	r.t.Helper()
	return r.lease(`{"worker":"w","want":0,"done":[{"lease":"` + lease + `","ok":true,"work_ms":50.5}]}`)
}

// totals returns the server's totals of all classes.
func (r *rig) totals() *ledger.ServerTotals {
	var t ledger.Totals
	r.Ledger(func(l *ledger.Ledger) { t = l.Totals() })
	return &t.ServerTotals
}

// conserved checks that every attempt is in exactly one place.
func (r *rig) conserved() {
	r.t.Helper()
	conserved(r.t, r.Server)
}

func conserved(t testing.TB, s *Server) {
	t.Helper()
	v := s.LedgerView(0)
	var pending int64
	for i := range v.Totals {
		pending += v.Totals[i].Pending()
	}
	if pending != *v.Held || v.Door+v.Queued+v.InService != pending {
		t.Errorf("pending: %d by the totals, %d by place, %d held", pending, v.Door+v.Queued+v.InService, *v.Held)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := int64(0)
	for _, rec := range s.ops.records {
		if rec.pending() {
			known++
		}
	}
	if known != pending {
		t.Errorf("%d records are pending, the ledger says %d", known, pending)
	}
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// useH2C makes the client speak HTTP/2 without TLS.
func (r *rig) useH2C() {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	r.client.CloseIdleConnections()
	r.client.Transport = &http.Transport{DialContext: r.net.Dial, Protocols: protocols}
}
