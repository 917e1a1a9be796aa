package deadline

import (
	"fmt"
	"net/http"
	"time"

	"shedload/internal/work"
)

// HeaderRetryAfter is how a server asks to be left alone for a while (RFC 9110, 10.2.3).
const HeaderRetryAfter = "Retry-After"

// RetryAfterCap is the longest wait that a server can ask for: a wrong value must
// not park a client for ever.
const RetryAfterCap = time.Hour

// retryAfterDigits fit into an int64 with room.
const retryAfterDigits = 10

// ParseRetryAfter reads how long a server asks to be left alone from received on,
// up to RetryAfterCap; an instant that has passed asks for 0. False means that it
// asks for nothing. Anything but digits and a valid HTTP date is a *HeaderError.
func ParseRetryAfter(h http.Header, received time.Time) (time.Duration, bool, error) {
	text, ok, err := single(h, HeaderRetryAfter)
	if err != nil || !ok {
		return 0, false, err
	}
	if seconds, ok := digits(text, retryAfterDigits); ok {
		return time.Duration(min(seconds, int64(RetryAfterCap/time.Second))) * time.Second, true, nil
	}
	at, ok := parseDate(text)
	if !ok {
		return 0, false, &HeaderError{HeaderRetryAfter, fmt.Sprintf(
			"%q: allowed are seconds as up to %d digits, or an HTTP date such as %s", text, retryAfterDigits, http.TimeFormat)}
	}
	return max(0, min(at.Sub(received), RetryAfterCap)), true, nil
}

// dateLayouts are the three forms of an HTTP date (RFC 9110, 5.6.7).
var dateLayouts = []string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// parseDate is stricter than http.ParseTime, which takes a wrong day of the week,
// fractions of a second and zones other than GMT: what was meant then is a guess.
func parseDate(text string) (time.Time, bool) {
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, text); err == nil && at.Format(layout) == text {
			return at, true
		}
	}
	return time.Time{}, false
}

// RetryWait combines a client's own backoff with what the server asked for: never
// earlier than either. False means that the retry would not leave before the
// deadline (work.Never: there is none), so there is none.
func RetryWait(backoff, asked time.Duration, now, deadline work.Instant) (time.Duration, bool) {
	wait := max(0, backoff, asked)
	if deadline != work.Never && now.Add(wait) >= deadline {
		return 0, false
	}
	return wait, true
}
