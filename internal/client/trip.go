package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"shedload/internal/client/wire"
	"shedload/internal/deadline"
	"shedload/internal/scenario"
)

// pollPause is the least time from one poll to the next, should the server answer
// at once instead of holding it.
const pollPause = 50 * time.Millisecond

// exchange sends the attempt and returns the answer that ended it.
func (f *flight) exchange(ctx context.Context) (answer, error) {
	form := &f.member.request
	header := form.headerOf(f.attempt)
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { f.leave(header) },
	})
	r, err := http.NewRequestWithContext(traced, form.method, form.url, bytes.NewReader(form.body))
	if err != nil {
		return answer{}, err
	}
	r.Header = header
	a, location, err := f.t.roundTrip(r)
	if err != nil || f.member.spec.Wait != scenario.WaitPoll || a.status != http.StatusAccepted {
		return a, err
	}
	at, err := r.URL.Parse(location)
	if err != nil || location == "" || at.Host != r.URL.Host {
		return answer{}, fmt.Errorf("%w: Location %.80q", wire.ErrMalformed, location)
	}
	return f.poll(ctx, at)
}

// poll asks for an operation until it is over or patience is.
func (f *flight) poll(ctx context.Context, at *url.URL) (answer, error) {
	g := f.member.g
	for {
		asked := g.now()
		left := f.attempt.Deadline.Sub(asked)
		if left < minLeft {
			return answer{status: http.StatusAccepted}, nil
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return answer{}, err
		}
		r.Header.Set(headerPrefer, waitFor(left))
		setLeft(r.Header, left)
		a, _, err := f.t.roundTrip(r)
		if err != nil || a.status != http.StatusOK {
			return a, err
		}
		var operation struct{ State string }
		if err := json.Unmarshal(a.body, &operation); err != nil {
			return answer{}, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
		}
		switch operation.State {
		case "done":
			return a, nil
		case "failed":
			a.status = http.StatusBadGateway // with the operation's reason in the body
			return a, nil
		}
		select {
		case <-time.After(pollPause - g.now().Sub(asked)):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// roundTrip sends r and reads the answer, and its Location.
func (t *tripper) roundTrip(r *http.Request) (answer, string, error) {
	resp, err := t.trip.RoundTrip(r)
	if err != nil {
		return answer{}, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxKept))
	if err == nil {
		var rest int64
		rest, err = io.Copy(io.Discard, io.LimitReader(resp.Body, wire.MaxBody))
		if rest == wire.MaxBody {
			err = fmt.Errorf("%w: a body of over %d bytes", wire.ErrTooLarge, wire.MaxBody)
		}
	}
	if err != nil {
		return answer{}, "", err
	}
	return answer{
		status: resp.StatusCode, retryAfter: resp.Header.Get(deadline.HeaderRetryAfter),
		doNotRetry: resp.Header.Get(headerDoNotRetry) == "true", body: body,
	}, resp.Header.Get("Location"), nil
}

func setLeft(h http.Header, left time.Duration) {
	h.Set(deadline.Header, deadline.Format(min(left, deadline.Ceiling)))
}
