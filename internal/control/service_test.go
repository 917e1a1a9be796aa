package control_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"shedload/internal/control"
)

// serve plays small's clients without end to two lanes, which share one server,
// and returns the controller and the base URL.
func serve(t *testing.T) (*control.Service, *control.Controller, string) {
	t.Helper()
	p := small(t)
	children, err := control.StartChildren(within(t), control.Spawner{Path: os.Args[0]}, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = children.Stop(context.Background()) })
	target := children.Target()
	s, err := control.NewService(control.ServiceConfig{
		Plan: p, Log: zap.NewNop(), Lanes: []control.Lane{{Run: "one", Target: target}, {Run: "two", Target: control.Target{Public: target.Public}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	over, enough := make(chan error, 1), errors.New("enough")
	go func() { over <- s.Run(ctx) }()
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		cancel(enough)
		if err := <-over; !errors.Is(err, enough) {
			t.Errorf("got %v, want the cause of the end", err)
		}
	})
	return s, control.NewController(h.URL, ""), h.URL
}

// TestSpikeReachesAllLanes asks for a spike and follows it: both lanes see it at
// full height at the same time, and then the load is what it was.
func TestSpikeReachesAllLanes(t *testing.T) {
	service, c, _ := serve(t)
	var began control.SpikeStatus
	peak, statuses := map[string]int64{}, 0
	err := c.Follow(within(t), func(s control.RunStatus) bool {
		statuses++
		if s.UptimeS < 1 {
			return false
		}
		if began.For == 0 {
			var err error
			if began, err = c.Spike(within(t), control.SpikeRequest{Factor: 3, For: control.Span(2 * time.Second)}); err != nil {
				t.Error(err)
				return true
			}
			_, err = c.Spike(within(t), control.SpikeRequest{Rate: 10, For: control.Span(time.Second)})
			var status *control.StatusError
			if !errors.As(err, &status) || status.Status != http.StatusConflict || !strings.Contains(status.Detail, "ends in") {
				t.Errorf("a second spike: got %v, want 409 and when the first ends", err)
			}
			if load, err := c.Load(within(t)); err != nil || load.Rate != 150 || load.Phase != control.SpikePhase || load.Clients[0].Rate != 50 {
				t.Errorf("got %+v, %v, want 150/s now and 50/s outside", load, err)
			}
		}
		for _, l := range s.Lanes {
			peak[l.Run] = max(peak[l.Run], l.Requests)
		}
		return s.Spike != nil && s.Spike.EndsIn == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	if peak["one"] < 145 || peak["two"] != peak["one"] {
		t.Errorf("got peaks %v, want 150 requests in a second in both lanes", peak)
	}
	s, err := c.Status(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.Phase != "" || s.Lanes[0].State == "" || s.Lanes[0].Server == nil || s.Lanes[0].Server.Throughput == 0 || s.Lanes[1].Server != nil {
		t.Errorf("got %+v, want the baseline again, and the server's view where its address is known", s)
	}
	if service.PhaseStart().IsZero() || time.Since(service.PhaseStart()) > time.Minute {
		t.Errorf("got %s, want when the spike began", service.PhaseStart())
	}
	if load, err := c.SetLoad(within(t), control.ClientRate{Rate: 5}); err != nil || load.Rate != 5 || load.Clients[0].Rate != 5 {
		t.Errorf("got %+v, %v, want 5/s from now on", load, err)
	}
}

func TestWrongRequestsChangeNothing(t *testing.T) {
	_, c, url := serve(t)
	for began := false; !began; {
		s, err := c.Status(within(t))
		if err != nil {
			t.Fatal(err)
		}
		began = s.UptimeS > 0
	}
	for _, r := range []struct{ method, path, body, want string }{
		{"POST", "/v1/spikes", `{`, "unexpected EOF"},
		{"POST", "/v1/spikes", `{"rate":400,"for":"10"}`, "a duration such as 10s"},
		{"POST", "/v1/spikes", `{"rate":400,"for":10}`, ""},
		{"POST", "/v1/spikes", `{"rate":400}`, ""},
		{"POST", "/v1/spikes", `{"for":"10s"}`, ""},
		{"POST", "/v1/spikes", `{"rate":400,"factor":5,"for":"10s"}`, ""},
		{"POST", "/v1/spikes", `{"rate":-1,"for":"10s"}`, ""},
		{"POST", "/v1/spikes", `{"rate":1e300,"for":"10s"}`, ""},
		{"POST", "/v1/spikes", `{"rate":400,"for":"-10s"}`, ""},
		{"POST", "/v1/spikes", `{"rate":400,"for":"10s","client":"nobody"}`, "nobody"},
		{"POST", "/v1/spikes", `{"rate":400,"for":"10s","color":"red"}`, "allowed are rate, factor, for, client"},
		{"POST", "/v1/spikes", `{"rate":400,"for":"10s"}{}`, "something follows"},
		{"PUT", "/v1/load", `{"rate":-5}`, ""},
		{"PUT", "/v1/load", `{"client":"nobody","rate":5}`, "nobody"},
		{"PUT", "/v1/load", strings.Repeat(" ", 5000), ""},
	} {
		request, err := http.NewRequest(r.method, url+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 1024)
		n, _ := response.Body.Read(text)
		response.Body.Close()
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text[:n]), r.want) {
			t.Errorf("%s %s %.60s: got %s %s, want 400 and %q", r.method, r.path, r.body, response.Status, text[:n], r.want)
		}
	}
	if s, err := c.Status(within(t)); err != nil || s.Spike != nil || s.Phase != "" {
		t.Errorf("got %+v, %v, want no spike", s, err)
	}
}

func TestLanesHaveNamesOfTheirOwn(t *testing.T) {
	lane := control.Lane{Run: "one", Target: control.Target{Public: "http://127.0.0.1:1"}}
	for want, lanes := range map[string][]control.Lane{
		"0 lanes":     nil,
		"9 lanes":     make([]control.Lane, 9),
		"is taken":    {lane, lane},
		"target \"\"": {{Run: "one"}},
	} {
		if _, err := control.NewService(control.ServiceConfig{Plan: small(t), Lanes: lanes}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestControllerSaysWhoIsMissing(t *testing.T) {
	_, err := control.NewController("http://127.0.0.1:1", "").Status(within(t))
	if !errors.Is(err, control.ErrUnreachable) || !contains(err.Error(), "loadgen at http://127.0.0.1:1", "connection refused") {
		t.Errorf("got %v, want to hear who cannot be reached", err)
	}
}

// TestErrorsKeepTheServersWords has a server that answers in several ways.
func TestErrorsKeepTheServersWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"title":"Forbidden","status":403,"detail":"you may not"}`: "answered 403 Forbidden: you may not (set SHEDLOAD_ADMIN_TOKEN",
		"plain words\n":                "answered 403 Forbidden: plain words",
		"<html>\n<p>a page</p></html>": "answered 403 Forbidden (set",
		"":                             "answered 403 Forbidden (set",
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer hush" {
				t.Errorf("got %q, want the token", r.Header.Get("Authorization"))
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(body))
		}))
		_, err := control.NewController(h.URL, "hush").Spike(within(t), control.SpikeRequest{})
		h.Close()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
