package deadline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stepClock is a clock that moves only when told to. It starts at the present, as
// the contexts made from its readings end by the real one.
type stepClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepClock) Spend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// hop starts a server that notes the deadline header it gets, spends some time,
// and asks the next one.
func hop(t *testing.T, clock func() time.Time, spend func(), next string, got *[]string) string {
	client := &http.Client{Transport: &RoundTripper{Next: http.DefaultTransport, Clock: clock}}
	handler := func(w http.ResponseWriter, r *http.Request) {
		*got = append(*got, r.Header.Get(Header))
		spend()
		if next == "" {
			return
		}
		out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, next, nil)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := client.Do(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
	}
	server := httptest.NewServer(Middleware(clock, http.HandlerFunc(handler)))
	t.Cleanup(server.Close)
	return server.URL
}

func get(t *testing.T, url string, h http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestDeadlineShrinksOverTwoHops(t *testing.T) {
	clock := &stepClock{now: time.Now()}
	var got []string
	b := hop(t, clock.Now, func() {}, "", &got)
	a := hop(t, clock.Now, func() { clock.Spend(100*time.Millisecond + 500) }, b, &got)
	for _, h := range []http.Header{
		header(Header, "60949.731"),
		header(HeaderGRPC, "60949731u"),
		header(Header, "99999", HeaderConnect, "99999", HeaderGRPC, "60949731u"),
	} {
		got = nil
		resp, body := get(t, a, h)
		if resp.StatusCode != http.StatusOK || len(got) != 2 || got[1] != "60849.73" {
			t.Errorf("%v: %v %s; hops got %q, want 60849.73 at the second", h, resp.Status, body, got)
		}
	}
}

func TestDeadlineShrinksOverThreeHopsByRealTime(t *testing.T) {
	var got []string
	c := hop(t, time.Now, func() {}, "", &got)
	b := hop(t, time.Now, func() {}, c, &got)
	a := hop(t, time.Now, func() {}, b, &got)
	if resp, body := get(t, a, header(Header, "60000")); resp.StatusCode != http.StatusOK || len(got) != 3 {
		t.Fatalf("%v %s; hops got %q", resp.Status, body, got)
	}
	for i := 1; i < len(got); i++ {
		before, err1 := ParseMs(got[i-1])
		after, err2 := ParseMs(got[i])
		if err1 != nil || err2 != nil || after >= before || after == 0 {
			t.Errorf("hops got %q", got)
		}
	}
}

func TestNothingLeftIsNotSent(t *testing.T) {
	clock := &stepClock{now: time.Now()}
	var got []string
	b := hop(t, clock.Now, func() {}, "", &got)
	a := hop(t, clock.Now, func() { clock.Spend(time.Minute) }, b, &got)
	resp, body := get(t, a, header(Header, "60000"))
	if resp.StatusCode != http.StatusGatewayTimeout || len(got) != 1 || !strings.Contains(body, ErrPassed.Error()) {
		t.Errorf("%v %q; hops got %q, want only the first", resp.Status, body, got)
	}
}

func TestMiddlewareAnswers(t *testing.T) {
	served := 0
	server := httptest.NewServer(Middleware(time.Now, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served++
		_, bounded := r.Context().Deadline()
		left, ok := Remaining(r.Context(), time.Now())
		if want := r.Header.Get(Header) != ""; ok != want || bounded != want || ok && left > time.Minute {
			t.Errorf("%v left, %v, in the context %v", left, ok, bounded)
		}
	})))
	defer server.Close()
	for _, c := range []struct {
		h            http.Header
		status       int
		reason, says string
	}{
		{header(), 200, "", ""},
		{header(Header, "60000"), 200, "", ""},
		{header(Header, "0"), 504, "expired_on_arrival", Header},
		{header(HeaderAbsolute, "2001-01-01T00:00:00Z"), 504, "expired_on_arrival", HeaderAbsolute},
		{header(Header, "soon"), 400, "malformed", Header},
		{header(Header, "1", Header, "2"), 400, "malformed", "allowed is one"},
		{header(HeaderGRPC, "5"), 400, "malformed", HeaderGRPC},
	} {
		served = 0
		resp, body := get(t, server.URL, c.h)
		if resp.StatusCode != c.status || (served == 1) != (c.status == 200) {
			t.Errorf("%v: %v, served %d times; want %d", c.h, resp.Status, served, c.status)
		}
		if c.status == 200 {
			continue
		}
		var p struct {
			Title, Detail, Reason string
			Status                int
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %s %q: %v", c.h, resp.Header.Get("Content-Type"), body, err)
		}
		if p.Status != c.status || p.Reason != c.reason || p.Title != http.StatusText(c.status) || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%v: %+v", c.h, p)
		}
	}
}

func TestContextEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := NewContext(t.Context(), Deadline{Left: 949731 * time.Microsecond, Received: start})
		defer cancel()
		<-ctx.Done()
		if took := time.Since(start); took != 949731*time.Microsecond {
			t.Errorf("ended after %v", took)
		}
		if cause := context.Cause(ctx); cause != ErrPassed || !errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("ended because %v", cause)
		}
	})
}

func TestRemaining(t *testing.T) {
	if left, ok := Remaining(t.Context(), received); ok || left != 0 {
		t.Errorf("without a deadline: %v, %v", left, ok)
	}
	now := time.Now()
	ctx, cancel := NewContext(t.Context(), Deadline{Left: time.Minute, Received: now})
	defer cancel()
	shorter, cancel := context.WithDeadline(ctx, now.Add(time.Second))
	defer cancel()
	bare, cancel := context.WithDeadline(context.Background(), now.Add(time.Second))
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		at   time.Duration
		want time.Duration
	}{
		{"received", ctx, 10 * time.Second, 50 * time.Second},
		{"over", ctx, 2 * time.Minute, 0},
		{"a clock before the receipt", ctx, -time.Hour, time.Minute},
		{"shortened on the way", shorter, 100 * time.Millisecond, 900 * time.Millisecond},
		{"detached", context.WithoutCancel(ctx), 10 * time.Second, 50 * time.Second},
		{"not from a header", bare, 100 * time.Millisecond, 900 * time.Millisecond},
	} {
		if left, ok := Remaining(c.ctx, now.Add(c.at)); !ok || left != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, left, ok, c.want)
		}
	}
}
