package deadline

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"shedload/internal/work"
)

// ErrPassed is the cause of a context that ended at a request's deadline, and what
// RoundTripper returns instead of sending a request that nobody waits for. It is
// a context.DeadlineExceeded and, for net/http's callers, a timeout.
var ErrPassed error = passedError{}

type passedError struct{}

func (passedError) Error() string     { return "the request's deadline has passed" }
func (passedError) Is(err error) bool { return err == context.DeadlineExceeded }
func (passedError) Timeout() bool     { return true }
func (passedError) Temporary() bool   { return false }

type contextKey struct{}

// NewContext returns a context that ends at d and remembers it. The cause of its
// end is ErrPassed.
func NewContext(ctx context.Context, d Deadline) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(context.WithValue(ctx, contextKey{}, d), d.At(), ErrPassed)
}

// FromContext returns the deadline that the request came with.
func FromContext(ctx context.Context) (Deadline, bool) {
	d, ok := ctx.Value(contextKey{}).(Deadline)
	return d, ok
}

// Remaining returns the time left at now until the context's deadline: never
// negative, never more than the request came with, less when the context was given
// an earlier deadline on the way. False means that there is no deadline.
func Remaining(ctx context.Context, now time.Time) (time.Duration, bool) {
	at, bounded := ctx.Deadline()
	left := at.Sub(now)
	if d, ok := FromContext(ctx); ok {
		received := d.Remaining(now)
		if !bounded {
			left, bounded = received, true // the context was detached from its end
		}
		left = min(left, received)
	}
	if !bounded {
		return 0, false
	}
	return max(0, left), true
}

// Middleware puts the deadline of each request into its context, by the given
// clock. A header that cannot be read is answered with 400, a deadline that has
// passed with 504, both as problem documents (RFC 9457). A request without a
// deadline goes on unchanged.
func Middleware(clock func() time.Time, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok, err := Parse(r.Header, clock())
		switch {
		case err != nil:
			writeProblem(w, problem{Status: http.StatusBadRequest, Detail: err.Error(), Reason: work.Malformed})
		case !ok:
			next.ServeHTTP(w, r)
		case d.Expired():
			writeProblem(w, problem{
				Status: http.StatusGatewayTimeout,
				Detail: d.Source + ": the deadline had passed when the request arrived",
				Reason: work.ExpiredOnArrival,
			})
		default:
			ctx, cancel := NewContext(r.Context(), d)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// problem is a problem document (RFC 9457) with the reason as an extension.
type problem struct {
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail"`
	Reason work.Reason `json:"reason"`
}

func writeProblem(w http.ResponseWriter, p problem) {
	p.Title = http.StatusText(p.Status)
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of strings and numbers always marshals
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // nobody is left to tell when the client has gone
}

// RoundTripper sends what is left of a request's deadline to the next hop. What
// is left is read when the request leaves, so time spent on the way, on earlier
// tries and on waits between them is no longer part of it. It is safe for
// concurrent use if Next and Clock are.
type RoundTripper struct {
	// Next sends the request. It must be set.
	Next http.RoundTripper
	// Clock is the clock that the context's deadline is by. It must be set.
	Clock func() time.Time
}

// RoundTrip sends r with the time left in its context, or with the earlier
// deadline that its headers hold already. When less than a microsecond is left it
// sends nothing and returns ErrPassed. A request without a deadline in its context
// is passed on unchanged.
func (t *RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	now := t.Clock()
	left, ok := Remaining(r.Context(), now)
	if !ok {
		return t.Next.RoundTrip(r)
	}
	out := r.Clone(r.Context()) // a RoundTripper must not change the request
	sent, err := Shrink(out.Header, left, now)
	if err == nil && sent < time.Microsecond {
		err = ErrPassed
	}
	if err == nil {
		return t.Next.RoundTrip(out)
	}
	if r.Body == nil {
		return nil, err
	}
	// A RoundTripper closes the body also of a request that it does not send.
	if closing := r.Body.Close(); closing != nil {
		err = errors.Join(err, closing)
	}
	return nil, err
}
