package retry

import (
	"fmt"
	"strings"

	"shedload/internal/work"
)

// Cause is why an attempt did not succeed.
type Cause uint8

// The causes.
const (
	// Timeout: patience ended before an answer came.
	Timeout Cause = iota + 1
	// Refusal: turned away at the door, or dropped and told so.
	Refusal
	// Error: the work failed or was lost, or the exchange broke.
	Error
)

var causeNames = []string{"", "timeout", "refusal", "error"}

// causeOf returns the cause that belongs to a client's view of an attempt; 0 for success.
func causeOf(o work.Outcome) Cause {
	switch o {
	case work.Succeeded:
		return 0
	case work.TimedOut:
		return Timeout
	case work.Refused, work.Dropped:
		return Refusal
	default:
		return Error
	}
}

// String returns the text form.
func (c Cause) String() string { return causeNames[c] }

// Allowed lists the text forms.
func (Cause) Allowed() []string { return causeNames[1:] }

// MarshalText returns the text form.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (c *Cause) UnmarshalText(text []byte) error {
	return parse(c, "cause", text, causeNames, c.Allowed())
}

// BackoffKind is how the pause before a retry grows.
type BackoffKind uint8

// The kinds of backoff.
const (
	// NoBackoff retries at once.
	NoBackoff BackoffKind = iota
	// FixedBackoff pauses Base before each retry.
	FixedBackoff
	// ExponentialBackoff pauses Base before the first retry and twice as long before each further one.
	ExponentialBackoff
)

var backoffNames = []string{"none", "fixed", "exponential"}

// String returns the text form.
func (k BackoffKind) String() string { return backoffNames[k] }

// Allowed lists the text forms.
func (BackoffKind) Allowed() []string { return backoffNames }

// MarshalText returns the text form.
func (k BackoffKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (k *BackoffKind) UnmarshalText(text []byte) error {
	return parse(k, "backoff kind", text, backoffNames, backoffNames)
}

// Jitter is how a pause is spread, so that clients that failed together do not
// come back together. The four kinds, and their names, are those of Marc Brooker,
// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
type Jitter uint8

// The jitters.
const (
	// NoJitter leaves the pause as it is.
	NoJitter Jitter = iota
	// FullJitter draws from 0 to the pause.
	FullJitter
	// EqualJitter draws from half the pause to the pause.
	EqualJitter
	// DecorrelatedJitter draws from Base to three times the pause before.
	DecorrelatedJitter
)

var jitterNames = []string{"none", "full", "equal", "decorrelated"}

// String returns the text form.
func (j Jitter) String() string { return jitterNames[j] }

// Allowed lists the text forms.
func (Jitter) Allowed() []string { return jitterNames }

// MarshalText returns the text form.
func (j Jitter) MarshalText() ([]byte, error) { return []byte(j.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (j *Jitter) UnmarshalText(text []byte) error {
	return parse(j, "jitter", text, jitterNames, jitterNames)
}

// RetryAfter says what a client makes of a server's Retry-After.
type RetryAfter uint8

// What to make of it.
const (
	// Honour pauses at least as long as the server asked.
	Honour RetryAfter = iota
	// Ignore pauses as if the server had not asked.
	Ignore
)

var retryAfterNames = []string{"honour", "ignore"}

// String returns the text form.
func (r RetryAfter) String() string { return retryAfterNames[r] }

// Allowed lists the text forms.
func (RetryAfter) Allowed() []string { return retryAfterNames }

// MarshalText returns the text form.
func (r RetryAfter) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (r *RetryAfter) UnmarshalText(text []byte) error {
	return parse(r, "retry_after", text, retryAfterNames, retryAfterNames)
}

// parse sets v to the index of text in names. allowed are the names to offer.
func parse[T ~uint8](v *T, what string, text []byte, names, allowed []string) error {
	for i, name := range names {
		if name != "" && name == string(text) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q: allowed are %s", what, text, strings.Join(allowed, ", "))
}
