package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/retry"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// loopback plays 200 requests in half a second over real sockets, with the real
// pacing thread, and returns what was recorded.
func loopback(t *testing.T, target string, g Group, adjust func(*Generator)) (*recorder, Stats) {
	t.Helper()
	r := &recorder{}
	g.Population = population.Spec{Name: "users", Patience: 10 * time.Second, Retry: retry.Spec{Attempts: 1}}
	g.Arrivals = arrival.Spec{Kind: arrival.Even, Rate: 400, Until: 500 * ms}
	// The run ends when the last request has, well before its horizon.
	var gen *Generator
	ended := 0
	record := func(e ledger.Event) {
		r.record(e)
		if e.Kind == ledger.Ended {
			ended++
		}
		if ended == 200 {
			gen.stopping = true
			gen.rouse(awake)
		}
	}
	gen, err := New(Config{Target: target, Record: record, MaxConns: 5000, Horizon: time.Minute, Groups: []Group{g}})
	if err != nil {
		t.Fatal(err)
	}
	adjust(gen)
	if err := gen.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := gen.Run(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	r.conserved(t)
	return r, gen.Stats()
}

func TestLoopback(t *testing.T) {
	h := func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == http.MethodPost && q.URL.Path == "/v1/operations" && q.Header.Get(headerPrefer) == "":
			w.Header().Set("Location", "/v1/operations/1")
			w.WriteHeader(http.StatusAccepted)
		case q.Method == http.MethodGet:
			hold(q, 5*ms)
			_, _ = io.WriteString(w, `{"state":"done"}`)
		default:
			_, _ = io.Copy(io.Discard, q.Body)
			hold(q, 5*ms)
		}
	}
	for _, way := range append(ways, struct {
		wait     scenario.Wait
		protocol scenario.Protocol
	}{scenario.WaitPlain, scenario.H1}) {
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			t.Parallel()
			s := httptest.NewUnstartedServer(http.HandlerFunc(h))
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			t.Cleanup(s.Close)
			r, stats := loopback(t, s.URL, Group{Wait: way.wait, Protocol: way.protocol}, func(*Generator) {})
			succeeded(t, r, stats)
		})
	}
}

// succeeded checks that all 200 requests were sent and answered.
func succeeded(t *testing.T, r *recorder, stats Stats) {
	t.Helper()
	n := 0
	for _, e := range r.of(ledger.Answered) {
		if e.Outcome == work.Succeeded {
			n++
		}
	}
	if sent := len(r.of(ledger.Sent)); sent != 200 || n != 200 || len(stats.ClientErrors) > 0 {
		t.Errorf("%d sent, %d succeeded, want 200 of each; %+v", sent, n, stats)
	}
}

func TestPlainOverTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(atOnce))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // connections dialled in vain are closed unused
	s.StartTLS()
	t.Cleanup(s.Close)
	r, stats := loopback(t, s.URL+"/any?a=b", Group{Wait: scenario.WaitPlain}, func(g *Generator) {
		ours := g.members[0].carrier.(*tripper).trip.(*http.Transport)
		ours.TLSClientConfig = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	})
	succeeded(t, r, stats)
}

// TestLargeRequest is not written by the pacing thread, and arrives whole.
func TestLargeRequest(t *testing.T) {
	const size = 64 << 10
	body := strings.Repeat("x", size)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if n, err := io.Copy(io.Discard, q.Body); n != size || err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	r, stats := loopback(t, s.URL, Group{Wait: scenario.WaitPlain, Plain: Plain{Method: "POST", Body: []byte(body)}}, func(*Generator) {})
	succeeded(t, r, stats)
}

// TestEarlyAnswer: a server that answers before it has read the request, while it
// is being written.
func TestEarlyAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(atOnce))
	t.Cleanup(s.Close)
	r, _ := loopback(t, s.URL, Group{Wait: scenario.WaitPlain, Plain: Plain{Method: "POST", Body: make([]byte, 200<<10)}}, func(*Generator) {})
	if n := len(r.of(ledger.Ended)); n != 200 {
		t.Errorf("%d ended", n)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Target: target, Record: func(ledger.Event) {}, MaxConns: 100, Groups: []Group{users(ms, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Prepare(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), target) {
		t.Errorf("%v", err)
	}
}
