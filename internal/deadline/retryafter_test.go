package deadline

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"shedload/internal/work"
)

// Retry-After read as an integer only, negative accepted, no cap, waited past the
// caller's deadline.
func TestTrapRetryAfterReadCarelessly(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0":                              0,
		"120":                            2 * time.Minute,
		"3600":                           time.Hour,
		"3601":                           time.Hour,
		"9999999999":                     time.Hour,
		"Fri, 02 Jan 2026 15:04:07 GMT":  2 * time.Second,
		"Friday, 02-Jan-26 15:04:07 GMT": 2 * time.Second,
		"Fri Jan  2 15:04:07 2026":       2 * time.Second,
		"Fri, 02 Jan 2026 15:04:00 GMT":  0,
		"Sun, 06 Nov 1994 08:49:37 GMT":  0,
		"Sat, 02 Jan 2027 15:04:07 GMT":  time.Hour,
	} {
		got, ok, err := ParseRetryAfter(header(HeaderRetryAfter, text), received)
		if err != nil || !ok || got != want {
			t.Errorf("%q = %v, %v, %v; want %v", text, got, ok, err, want)
		}
	}
	for _, text := range []string{
		"", "-1", "-0", "+5", "1.5", "5s", " 5", "1e3", "99999999999", "soon", "0x5",
		"2026-01-02T15:04:07Z", "Mon, 02 Jan 2026 15:04:07 GMT", "Fri, 02 Jan 2026 15:04:07 EST",
		"Fri, 02 Jan 2026 15:04:07.5 GMT", "Fri, 2 Jan 2026 15:04:07 GMT", "Friday, 02-Jan-26 15:04:07 EST", "Fri, 02 Jan 2026 15:04:07",
	} {
		got, ok, err := ParseRetryAfter(header(HeaderRetryAfter, text), received)
		var bad *HeaderError
		if !errors.As(err, &bad) || bad.Header != HeaderRetryAfter || ok || got != 0 || !strings.Contains(err.Error(), "HTTP date") {
			t.Errorf("%q = %v, %v, %v; want an error that says what is allowed", text, got, ok, err)
		}
	}
	if got, ok, err := ParseRetryAfter(http.Header{}, received); got != 0 || ok || err != nil {
		t.Errorf("without the header: %v, %v, %v", got, ok, err)
	}
	if _, _, err := ParseRetryAfter(header(HeaderRetryAfter, "1", HeaderRetryAfter, "2"), received); err == nil || !strings.Contains(err.Error(), "allowed is one") {
		t.Errorf("two values: %v", err)
	}
}

func TestRetryWait(t *testing.T) {
	const now = work.Instant(10 * time.Second)
	for _, c := range []struct {
		name           string
		backoff, asked time.Duration
		deadline       work.Instant
		want           time.Duration
		ok             bool
	}{
		{"no deadline", time.Second, 2 * time.Second, work.Never, 2 * time.Second, true},
		{"own backoff is longer", 3 * time.Second, time.Second, work.Never, 3 * time.Second, true},
		{"nothing to wait for", 0, 0, work.Never, 0, true},
		{"negative", -time.Second, 0, work.Never, 0, true},
		{"before the deadline", 0, time.Second, now.Add(time.Second) + 1, time.Second, true},
		{"at the deadline", 0, time.Second, now.Add(time.Second), 0, false},
		{"not shortened to fit", time.Second, time.Hour, now.Add(2 * time.Second), 0, false},
		{"deadline has passed", 0, 0, now, 0, false},
	} {
		if got, ok := RetryWait(c.backoff, c.asked, now, c.deadline); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{"0", "120", "-1", "Fri, 02 Jan 2026 15:04:07 GMT", "Fri Jan  2 15:04:07 2026", "99999999999", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok, err := ParseRetryAfter(header(HeaderRetryAfter, text), received)
		if ok == (err != nil) || d < 0 || d > RetryAfterCap {
			t.Fatalf("%q = %v, %v, %v", text, d, ok, err)
		}
	})
}
