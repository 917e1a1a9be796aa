package deadline

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// The headers that carry a deadline. Header is the native one, the only one that
// is sent; the others are understood.
const (
	// Header holds the time left in milliseconds with up to 3 decimals.
	Header = "X-Request-Timeout-Ms"
	// HeaderGRPC is gRPC's: up to 8 digits and a unit (H M S m u n), see "gRPC over HTTP2".
	HeaderGRPC = "Grpc-Timeout"
	// HeaderConnect is Connect's: up to 10 digits of milliseconds, see "Connect protocol".
	HeaderConnect = "Connect-Timeout-Ms"
	// HeaderEnvoy is what Envoy tells an upstream: whole milliseconds.
	HeaderEnvoy = "X-Envoy-Expected-Rq-Timeout-Ms"
	// HeaderAbsolute holds an instant in RFC 3339. It is right only as far as the
	// two clocks agree; see Skew.
	HeaderAbsolute = "X-Request-Deadline"
)

// maxValue bounds a header's value; the longest valid one has 35 characters.
const maxValue = 64

// codec reads one of the relative headers.
type codec struct {
	header string
	parse  func(text string) (time.Duration, error)
}

var relative = []codec{
	{Header, ParseMs},
	{HeaderGRPC, parseGRPC},
	{HeaderConnect, whole(10)},
	{HeaderEnvoy, whole(wholeDigits)},
}

// Deadline is what a request's headers say about how long its answer is wanted.
type Deadline struct {
	// Left is the time that was left at Received, from 0 (already over) to Ceiling.
	Left time.Duration
	// Received is the instant given to Parse. With a monotonic reading in it, steps
	// of the wall clock do not move the deadline.
	Received time.Time
	// Source names the header that was the earliest.
	Source string
	// Skew warns that an absolute deadline was sent; nil otherwise.
	Skew *Skew
}

// At returns the instant of the deadline by the local clock.
func (d Deadline) At() time.Time { return d.Received.Add(d.Left) }

// Remaining returns the time that is left at now: never negative, and never more
// than was received, also when now is before the receipt.
func (d Deadline) Remaining(now time.Time) time.Duration {
	return max(0, min(d.Left, d.At().Sub(now)))
}

// Expired reports whether nothing was left when the request arrived.
func (d Deadline) Expired() bool { return d.Left == 0 }

// Skew is the warning that goes with an absolute deadline: how much time is left
// depends on the sender's clock, which this host cannot see. When a relative
// header came along, the two differ by the clocks' difference and the way here.
type Skew struct {
	// Absolute is the time left by the absolute header and the local clock;
	// negative when it has passed.
	Absolute time.Duration
	// Relative is the time left by the earliest relative header, if HasRelative.
	Relative    time.Duration
	HasRelative bool
}

// String says the warning in words.
func (s Skew) String() string {
	text := fmt.Sprintf("%s leaves %v by the local clock, right only if the sender's clock agrees", HeaderAbsolute, s.Absolute)
	if s.HasRelative {
		text += fmt.Sprintf("; relative headers leave %v, a difference of %v", s.Relative, s.Absolute-s.Relative)
	}
	return text
}

// HeaderError says what is wrong with a header.
type HeaderError struct {
	Header  string // canonical name
	Problem string // what was found and what is allowed
}

// Error returns the header's name and the problem.
func (e *HeaderError) Error() string { return e.Header + ": " + e.Problem }

// Parse reads the deadline of a request whose headers were received at the given
// instant. Of several headers the earliest deadline wins; false means that there
// is none. Every header that is present must be valid, else the error is a
// *HeaderError that names it.
func Parse(h http.Header, received time.Time) (Deadline, bool, error) {
	d := Deadline{Received: received}
	for _, c := range relative {
		text, ok, err := single(h, c.header)
		if err != nil {
			return Deadline{}, false, err
		}
		if !ok {
			continue
		}
		left, err := c.parse(text)
		if err != nil {
			return Deadline{}, false, &HeaderError{c.header, fmt.Sprintf("%q: %v", text, err)}
		}
		if d.Source == "" || left < d.Left {
			d.Left, d.Source = left, c.header
		}
	}
	if err := d.absolute(h); err != nil {
		return Deadline{}, false, err
	}
	d.Left = max(0, min(d.Left, Ceiling))
	return d, d.Source != "", nil
}

// rfc3339 is the syntax, of which time.Parse (and Time.UnmarshalText) check less:
// hours of one digit and a comma before the fraction pass there.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// absolute takes in the absolute header.
func (d *Deadline) absolute(h http.Header) error {
	text, ok, err := single(h, HeaderAbsolute)
	if err != nil || !ok {
		return err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return &HeaderError{HeaderAbsolute, fmt.Sprintf("%q: allowed is an instant in RFC 3339, such as 2026-01-02T15:04:05.678Z", text)}
	}
	left := at.Sub(d.Received)
	d.Skew = &Skew{Absolute: left, Relative: d.Left, HasRelative: d.Source != ""}
	if d.Source == "" || left < d.Left {
		d.Left, d.Source = left, HeaderAbsolute
	}
	return nil
}

// single returns the one value of a header. Two values are an error even when
// they agree: one of them was added by somebody who did not see the other.
func single(h http.Header, name string) (string, bool, error) {
	values := h[name] // the names are canonical, as the keys are: no need to make them so
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", false, &HeaderError{name, fmt.Sprintf("%d values: allowed is one", len(values))}
	case len(values[0]) > maxValue:
		return "", false, &HeaderError{name, fmt.Sprintf("%d characters: allowed are up to %d", len(values[0]), maxValue)}
	}
	return values[0], true, nil
}

var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second,
	'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

func parseGRPC(text string) (time.Duration, error) {
	bad := errors.New("allowed are up to 8 digits and a unit of H, M, S, m, u, n, such as 950m")
	if text == "" {
		return 0, bad
	}
	last := len(text) - 1
	unit, known := grpcUnits[text[last]]
	n, ok := digits(text[:last], 8)
	if !known || !ok {
		return 0, bad
	}
	// Eight digits of hours do not fit into a time.Duration.
	if time.Duration(n) > Ceiling/unit {
		return Ceiling, nil
	}
	return time.Duration(n) * unit, nil
}

func whole(most int) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		n, ok := digits(text, most)
		if !ok {
			return 0, fmt.Errorf("allowed are milliseconds as up to %d digits, such as 950", most)
		}
		return time.Duration(n) * time.Millisecond, nil
	}
}

// Set makes left the only deadline in h: in the native form, rounded down.
func Set(h http.Header, left time.Duration) {
	for _, name := range []string{HeaderGRPC, HeaderConnect, HeaderEnvoy, HeaderAbsolute} {
		h.Del(name)
	}
	h.Set(Header, Format(min(left, Ceiling)))
}

// Shrink makes left the deadline in h unless h holds an earlier one, received at
// now: what is sent on is never more than what came in. It reports the time sent.
func Shrink(h http.Header, left time.Duration, now time.Time) (time.Duration, error) {
	d, ok, err := Parse(h, now)
	if err != nil {
		return 0, err
	}
	if ok {
		left = min(left, d.Left)
	}
	left = max(0, left)
	Set(h, left)
	return left, nil
}
