package deadline

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// sent is a next hop that notes what reaches it.
type sent struct{ headers []http.Header }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.headers = append(s.headers, r.Header)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

type closeNote struct {
	io.Reader
	closed bool
	err    error
}

func (c *closeNote) Close() error { c.closed = true; return c.err }

func request(t *testing.T, ctx context.Context, h http.Header, body io.ReadCloser) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://next/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Body = h, body
	return r
}

func TestRoundTripperSendsWhatIsLeft(t *testing.T) {
	clock := &stepClock{now: time.Now()}
	ctx, cancel := NewContext(t.Context(), Deadline{Left: time.Minute, Received: clock.Now()})
	defer cancel()
	next := &sent{}
	rt := &RoundTripper{Next: next, Clock: clock.Now}
	for _, c := range []struct {
		h    http.Header
		want string
	}{
		{header(), "60000"},
		{header(Header, "99999999"), "60000"}, // what a proxy copies from the client
		{header(Header, "5"), "5"},
		{header(HeaderGRPC, "9S"), "9000"},
	} {
		before := c.h.Clone()
		if _, err := rt.RoundTrip(request(t, ctx, c.h, nil)); err != nil {
			t.Fatal(err)
		}
		last := next.headers[len(next.headers)-1]
		if last.Get(Header) != c.want || len(last) != 1 {
			t.Errorf("%v is sent as %v, want %s", before, last, c.want)
		}
		if len(c.h) != len(before) || c.h.Get(Header) != before.Get(Header) {
			t.Errorf("the caller's headers %v became %v", before, c.h)
		}
	}
	h := header(HeaderGRPC, "not ours to judge")
	if _, err := rt.RoundTrip(request(t, t.Context(), h, nil)); err != nil || next.headers[4].Get(HeaderGRPC) != h.Get(HeaderGRPC) {
		t.Errorf("a request without a deadline was sent as %v, %v", next.headers[4], err)
	}
}

// What earlier tries and the waits between them took is not there any more.
func TestRetriesAndBackoffAreSubtracted(t *testing.T) {
	clock := &stepClock{now: time.Now()}
	ctx, cancel := NewContext(t.Context(), Deadline{Left: time.Minute, Received: clock.Now()})
	defer cancel()
	next := &sent{}
	rt := &RoundTripper{Next: next, Clock: clock.Now}
	r := request(t, ctx, header(), nil)
	for _, want := range []string{"60000", "40000", "20000"} {
		if _, err := rt.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
		if got := next.headers[len(next.headers)-1].Get(Header); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
		clock.Spend(20 * time.Second)
	}
	if _, err := rt.RoundTrip(r); !errors.Is(err, ErrPassed) || len(next.headers) != 3 {
		t.Errorf("the fourth try was sent: %v", err)
	}
}

func TestRoundTripperRefusesLocally(t *testing.T) {
	clock := &stepClock{now: time.Now()}
	ctx, cancel := NewContext(t.Context(), Deadline{Left: time.Minute, Received: clock.Now()})
	defer cancel()
	next := &sent{}
	client := &http.Client{Transport: &RoundTripper{Next: next, Clock: clock.Now}}

	body := &closeNote{Reader: strings.NewReader("x")}
	_, err := client.Do(request(t, ctx, header(Header, "x"), body))
	var bad *HeaderError
	if !errors.As(err, &bad) || !body.closed {
		t.Errorf("a header that cannot be read: %v, body closed %v", err, body.closed)
	}

	clock.Spend(time.Minute - 999)
	body = &closeNote{Reader: strings.NewReader("x")}
	_, err = client.Do(request(t, ctx, header(), body))
	var wrapped *url.Error
	if !errors.Is(err, ErrPassed) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &wrapped) || !wrapped.Timeout() || !body.closed {
		t.Errorf("less than a microsecond left: %v, body closed %v", err, body.closed)
	}

	failing := errors.New("close failed")
	_, err = client.Do(request(t, ctx, header(), &closeNote{Reader: strings.NewReader("x"), err: failing}))
	if !errors.Is(err, ErrPassed) || !errors.Is(err, failing) {
		t.Errorf("a body that does not close: %v", err)
	}
	if len(next.headers) != 0 {
		t.Errorf("sent %v", next.headers)
	}
}
