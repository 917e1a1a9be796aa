package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// recorder keeps events. The generator calls it under its lock; the tests look
// after the run.
type recorder struct{ events []ledger.Event }

func (r *recorder) record(e ledger.Event) { r.events = append(r.events, e) }

func (r *recorder) of(k ledger.Kind) []ledger.Event {
	var out []ledger.Event
	for _, e := range r.events {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

// conserved checks that each request ended once, that each attempt left or was
// missed once, and that none was answered that did not leave.
func (r *recorder) conserved(t *testing.T) {
	t.Helper()
	type try struct {
		request uint64
		attempt uint16
	}
	open, tries := map[uint64]bool{}, map[try]string{}
	last := work.Instant(0)
	for _, e := range r.events {
		key := try{e.Unit.Request, e.Unit.Attempt}
		switch e.Kind {
		case ledger.Wished:
			if _, again := open[e.Unit.Request]; again {
				t.Errorf("request %d began twice", e.Unit.Request)
			}
			open[e.Unit.Request] = true
		case ledger.Ended:
			if !open[e.Unit.Request] {
				t.Errorf("request %d ended, but was not open", e.Unit.Request)
			}
			open[e.Unit.Request] = false
		case ledger.Sent, ledger.Missed:
			if tries[key] != "" {
				t.Errorf("%+v left or was missed twice", key)
			}
			tries[key] = "out"
		case ledger.Resumed:
			tries[key] = "out"
		case ledger.Answered:
			if tries[key] != "out" {
				t.Errorf("%+v was answered (%s), but was not under way: %q", key, e.Outcome, tries[key])
			}
			tries[key] = "answered"
		}
		if e.Kind == ledger.Sent || e.Kind == ledger.Answered {
			if e.At < last {
				t.Errorf("%+v is before %v", e, last)
			}
			last = e.At
		}
	}
	for request, stillOpen := range open {
		if stillOpen {
			t.Errorf("request %d did not end", request)
		}
	}
}

// outcomes lists how attempts were answered: "instant outcome reason".
func (r *recorder) outcomes() []string {
	var out []string
	for _, e := range r.of(ledger.Answered) {
		s := fmt.Sprintf("%v %s", e.At, e.Outcome)
		if e.Reason != work.None {
			s += " " + e.Reason.String()
		}
		out = append(out, s)
	}
	return out
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// memory is a network in memory. Writes wait for the peer to read, but only until
// it is scheduled: no virtual time passes.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	dials  int
	mu     sync.Mutex
}

func newMemory() *memory { return &memory{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{} }

var errRefused = errors.New("nobody listens")

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	m.mu.Lock()
	m.dials++
	m.mu.Unlock()
	near, far := net.Pipe()
	select {
	case m.conns <- far:
		return near, nil
	case <-m.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve answers on m until the test ends; for use in a bubble.
func (m *memory) serve(t *testing.T, h http.HandlerFunc) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: protocols}
	done := make(chan error)
	go func() { done <- s.Serve(m) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
}

// users is a group of one even arrival a second.
func users(patience time.Duration, attempts int) Group {
	return Group{
		Population: population.Spec{Name: "users", Patience: patience, Retry: retry.Spec{Attempts: attempts}},
		Arrivals:   arrival.Spec{Kind: arrival.Even, Rate: 1},
	}
}

// one makes the group's only request arrive at 1 s.
func one(g Group) Group {
	g.Arrivals = arrival.Spec{Kind: arrival.Trace, Trace: []work.Instant{work.Instant(time.Second)}}
	return g
}

// play runs groups against h in a bubble, in virtual time.
func play(t *testing.T, c Config, h http.HandlerFunc) (*recorder, Stats) {
	t.Helper()
	m, r := newMemory(), &recorder{}
	m.serve(t, h)
	c.Target, c.Dial, c.Record, c.VirtualTime = "http://server", m.dial, r.record, true
	if c.MaxConns == 0 {
		c.MaxConns = 1000
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	r.conserved(t)
	return r, g.Stats()
}

// hold answers after d, or at the request's end.
func hold(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
