package client

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// TestReplies: what each answer of the API means, however it was carried.
func TestReplies(t *testing.T) {
	problem := func(reason string) string { return `{"title":"x","status":1,"reason":"` + reason + `"}` }
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   work.Result
	}{
		{"done", 200, nil, `{"state":"done"}`, work.Result{Outcome: work.Succeeded}},
		{"refused", 503, http.Header{"Retry-After": {"2"}}, problem("queue_full"),
			work.Result{Outcome: work.Refused, Reason: work.QueueFull, RetryAfter: 2 * time.Second}},
		{"do not retry", 503, http.Header{"Retry-After": {"0"}, "X-Do-Not-Retry": {"true"}}, problem("priority"),
			work.Result{Outcome: work.Refused, Reason: work.Priority, DoNotRetry: true}},
		{"dropped", 503, nil, problem("doomed"), work.Result{Outcome: work.Dropped, Reason: work.Doomed}},
		{"refused by somebody else", 503, nil, "<html>", work.Result{Outcome: work.Refused}},
		{"unknown reason", 503, nil, problem("tired"), work.Result{Outcome: work.Refused}},
		{"retry after a date", 503, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:11 GMT"}}, "",
			work.Result{Outcome: work.Refused, RetryAfter: 10 * time.Second}},
		{"retry after nonsense", 503, http.Header{"Retry-After": {"soon"}}, "", work.Result{Outcome: work.Refused}},
		{"retry after a negative", 503, http.Header{"Retry-After": {"-1"}}, "", work.Result{Outcome: work.Refused}},
		{"retry after a year", 503, http.Header{"Retry-After": {"31536000"}}, "", work.Result{Outcome: work.Refused, RetryAfter: time.Hour}},
		{"lost", 502, nil, problem("lost"), work.Result{Outcome: work.Failed, Reason: work.LostUnit}},
		{"failed", 500, nil, "", work.Result{Outcome: work.Failed}},
		{"expired on arrival", 504, nil, problem("expired_on_arrival"), work.Result{Outcome: work.Refused, Reason: work.ExpiredOnArrival}},
		{"expired, without a document", 504, nil, "", work.Result{Outcome: work.Refused, Reason: work.ExpiredOnArrival}},
		{"malformed", 400, nil, problem("malformed"), work.Result{Outcome: work.Refused, Reason: work.Malformed}},
		{"bad request", 400, nil, "", work.Result{Outcome: work.ClientError}},
		{"not found", 404, nil, "404 page not found", work.Result{Outcome: work.ClientError}},
		{"elsewhere", 302, http.Header{"Location": {"/x"}}, "", work.Result{Outcome: work.ClientError}},
	}
	for _, tt := range tests {
		for _, way := range ways {
			t.Run(fmt.Sprint(tt.name, way), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := one(users(700*ms, 1))
					g.Wait, g.Protocol = way.wait, way.protocol
					r, stats := play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(w http.ResponseWriter, q *http.Request) {
						for name, values := range tt.header {
							w.Header()[name] = values
						}
						w.WriteHeader(tt.status)
						_, _ = io.WriteString(w, tt.body)
					})
					answered := r.of(ledger.Answered)
					if len(answered) != 1 {
						t.Fatalf("%d answers", len(answered))
					}
					if e := answered[0]; e.At != work.Instant(time.Second) || e.Outcome != tt.want.Outcome || e.Reason != tt.want.Reason {
						t.Errorf("answered %v %s %s, want %+v", e.At, e.Outcome, e.Reason, tt.want)
					}
					if bad := tt.want.Outcome == work.ClientError; bad != (stats.ClientErrors["bad_status"] == 1) {
						t.Errorf("client errors %v", stats.ClientErrors)
					}
					a := answer{tt.status, tt.header.Get("Retry-After"), tt.header.Get("X-Do-Not-Retry") == "true", []byte(tt.body)}
					got, pending := a.meaning(way.wait)
					want := tt.want
					// A date counts from when it was received.
					if strings.HasPrefix(a.retryAfter, "Sat") {
						want.RetryAfter = time.Until(time.Date(2000, 1, 1, 0, 0, 11, 0, time.UTC))
					}
					if got != want || pending {
						t.Errorf("result %+v, want %+v", got, want)
					}
				})
			})
		}
	}
}

// TestRetryAfterIsHonoured, through the whole way to the second attempt.
func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := play(t, Config{Groups: []Group{one(users(700*ms, 2))}, Horizon: 9 * time.Second}, func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		expect(t, "answers", r.outcomes(), []string{"1s refused", "3s refused"})
	})
}

// TestRequestBytes: what a raw connection sends is what net/http reads.
func TestRequestBytes(t *testing.T) {
	g, err := New(Config{
		Target: "http://server:81/base", MaxConns: 100, Record: func(ledger.Event) {}, Seed: draw.Seed(1),
		Classes: []work.Class{{Name: "gold", Criticality: work.CriticalPlus}, {Name: "lead", Criticality: work.Sheddable}},
		Groups: []Group{{
			Population: population.Spec{Name: "a", Patience: 1001 * ms, Retry: retry.Spec{Attempts: 2, Resume: true}},
			Arrivals:   users(1, 1).Arrivals,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	form := &g.members[0].request
	a := population.Attempt{Request: 1<<48 + 7, Attempt: 2, Class: 1}
	raw := form.append(nil, a, 949731999)
	q, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	want := http.Header{
		"Prefer": {"wait=2"}, "X-Class": {"lead"}, "X-Criticality": {"sheddable"}, "X-Request-Id": {"281474976710663"}, "X-Attempt": {"2"},
		"X-Request-Timeout-Ms": {"949.731"}, "Idempotency-Key": {form.key + "-281474976710663-2"}, "Content-Length": {"0"},
	}
	if fmt.Sprint(q.Header) != fmt.Sprint(want) || q.Method != "POST" || q.RequestURI != "/base/v1/operations" || q.Host != "server:81" {
		t.Errorf("%s %s %s %v\nwant %v", q.Method, q.Host, q.RequestURI, q.Header, want)
	}
	// The same fields go through net/http.
	h := form.headerOf(a)
	setLeft(h, 949731999)
	h.Set("Content-Length", "0")
	if fmt.Sprint(h) != fmt.Sprint(want) {
		t.Errorf("net/http: %v\nwant %v", h, want)
	}
}

// TestResumeKeepsItsKey: the retry of a resuming client joins under the same key,
// and other clients of other runs have other keys.
func TestResumeKeepsItsKey(t *testing.T) {
	keys := map[string]int{}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			g := one(users(700*ms, 3))
			g.Population.Retry.Resume = true
			var mu sync.Mutex
			r, _ := play(t, Config{Groups: []Group{g}, Horizon: 9 * time.Second}, func(_ http.ResponseWriter, q *http.Request) {
				mu.Lock()
				keys[q.Header.Get(headerKey)]++
				mu.Unlock()
				hold(q, time.Hour)
			})
			if n := len(r.of(ledger.Resumed)); n != 2 {
				t.Errorf("%d resumes, want 2", n)
			}
		})
	}
	if len(keys) != 2 {
		t.Errorf("keys %v, want two of three tries each", keys)
	}
	for key, n := range keys {
		if n != 3 || key == "" {
			t.Errorf("keys %v, want two of three tries each", keys)
		}
	}
}

// TestBrokenServers: no answer, or none that can be understood, is a client error
// of a known kind, and the client goes on.
func TestBrokenServers(t *testing.T) {
	tests := []struct {
		name, says string
		want       string
	}{
		{"hangs up", "", "closed_early"},
		{"hangs up in the head", "HTTP/1.1 200 OK\r\n", "closed_early"},
		{"hangs up in the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "closed_early"},
		{"garbage", "220 mail.example ESMTP\r\n\r\n", "malformed_answer"},
		{"endless head", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 17<<10), "malformed_answer"},
		{"enormous body", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "malformed_answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newMemory(), &recorder{}
				t.Cleanup(func() { _ = m.Close() })
				go func() {
					for c, err := m.Accept(); err == nil; c, err = m.Accept() {
						go func() {
							defer c.Close()
							if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
								_, _ = io.WriteString(c, tt.says)
							}
						}()
					}
				}()
				g, err := New(Config{
					Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 100, Horizon: 5 * time.Second,
					Groups: []Group{one(users(700*ms, 3))},
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Run(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				r.conserved(t)
				expect(t, "answers", r.outcomes(), []string{"1s client_error", "1s client_error", "1s client_error"})
				if stats := g.Stats(); stats.ClientErrors[tt.want] != 3 || len(stats.ClientErrors) != 1 {
					t.Errorf("client errors %v, want 3 of %s", stats.ClientErrors, tt.want)
				}
			})
		})
	}
}

// TestUnsolicitedAnswer: an idle connection on which the server speaks is closed,
// and nobody takes its words for an answer.
func TestUnsolicitedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), &recorder{}
		t.Cleanup(func() { _ = m.Close() })
		const warm = reserveBase + 2
		go func() {
			for n := 0; ; n++ {
				c, err := m.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					if n < warm {
						_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
					_, _ = io.Copy(io.Discard, c)
				}()
			}
		}()
		g, err := New(Config{
			Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 100, Horizon: 5 * time.Second,
			Groups: []Group{one(users(700*ms, 1))},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.dials != warm {
			t.Fatalf("%d dials, want %d", m.dials, warm)
		}
		synctest.Wait()
		if stats := g.Stats(); stats.Conns != 0 {
			t.Errorf("%d connections are still trusted", stats.Conns)
		}
		if err := g.Run(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		expect(t, "answers", r.outcomes(), []string{"1.7s timed_out"})
	})
}
