package retry

import (
	"fmt"
	"time"
)

const (
	// MaxAttempts bounds the attempts of one request.
	MaxAttempts = 10_000
	// MaxWait bounds every pause: backoff without a cap of its own, and what a
	// server may ask for with Retry-After.
	MaxWait = time.Hour
)

// Spec is what a client tries again, how often, and how long it pauses before. The
// zero Spec never retries.
type Spec struct {
	// Attempts is the most tries of one request, the first included; 0 means 1.
	Attempts int `json:"attempts" yaml:"attempts" doc:"most tries of one request, the first included; default 1"`
	// On are the causes that are tried again; none named means all.
	On []Cause `json:"on,omitempty" yaml:"on" doc:"what is tried again: timeout, refusal, error; default all"`
	// Backoff is the pause before a retry.
	Backoff BackoffSpec `json:"backoff" yaml:"backoff" doc:"the pause before a retry; default none"`
	// RetryAfter says what is made of a server's Retry-After.
	RetryAfter RetryAfter `json:"retry_after" yaml:"retry_after" doc:"honour (default) or ignore a server's Retry-After"`
	// Resume lets a retry after a time-out join the operation that is still
	// pending, instead of starting another. A resume takes one of the Attempts and
	// passes the gates like any retry, but is no attempt. After a refusal or an
	// error there is nothing left to join: that retry is a new attempt.
	Resume bool `json:"resume,omitempty" yaml:"resume" doc:"a retry after a time-out joins the pending operation instead of starting another"`
}

// BackoffSpec is the pause before a retry.
type BackoffSpec struct {
	Kind BackoffKind `json:"kind" yaml:"kind" doc:"none, fixed or exponential (doubling)"`
	// Base is the pause before the first retry.
	Base time.Duration `json:"base" yaml:"base" doc:"pause before the first retry"`
	// Cap is the longest pause; 0 means MaxWait.
	Cap    time.Duration `json:"cap,omitempty" yaml:"cap" doc:"longest pause; default 1h"`
	Jitter Jitter        `json:"jitter" yaml:"jitter" doc:"none, full, equal or decorrelated"`
}

// Validate says what is wrong with s, by the names of a scenario file.
func (s Spec) Validate() error {
	if s.Attempts < 0 || s.Attempts > MaxAttempts {
		return fmt.Errorf("attempts: %d is outside 1 to %d", s.Attempts, MaxAttempts)
	}
	seen := uint8(0)
	for i, c := range s.On {
		switch {
		case c < Timeout || c > Error:
			return fmt.Errorf("on[%d]: unknown cause %d: allowed are timeout, refusal, error", i, c)
		case seen&(1<<c) != 0:
			return fmt.Errorf("on[%d]: %s stands there twice", i, c)
		}
		seen |= 1 << c
	}
	if s.RetryAfter > Ignore {
		return fmt.Errorf("retry_after: unknown %d: allowed are honour, ignore", s.RetryAfter)
	}
	if err := s.Backoff.Validate(); err != nil {
		return fmt.Errorf("backoff.%w", err)
	}
	return nil
}

// Validate says what is wrong with b, by the names of a scenario file.
func (b BackoffSpec) Validate() error {
	switch {
	case b.Kind > ExponentialBackoff:
		return fmt.Errorf("kind: unknown %d: allowed are none, fixed, exponential", b.Kind)
	case b.Jitter > DecorrelatedJitter:
		return fmt.Errorf("jitter: unknown %d: allowed are none, full, equal, decorrelated", b.Jitter)
	case b.Kind == NoBackoff && b != (BackoffSpec{}):
		return fmt.Errorf("kind: none has no base, cap or jitter: allowed with them are fixed, exponential")
	case b.Kind == NoBackoff:
		return nil
	case b.Base <= 0 || b.Base > MaxWait:
		return fmt.Errorf("base: %s is outside 1ns to %s", b.Base, MaxWait)
	case b.Cap != 0 && (b.Cap < b.Base || b.Cap > MaxWait):
		return fmt.Errorf("cap: %s is outside base %s to %s", b.Cap, b.Base, MaxWait)
	case b.Kind == FixedBackoff && b.Jitter == DecorrelatedJitter:
		return fmt.Errorf("jitter: decorrelated grows by itself: allowed with fixed are none, full, equal")
	}
	return nil
}

// causes returns the set of causes that are retried, one bit each.
func (s Spec) causes() uint8 {
	if len(s.On) == 0 {
		return 1<<Timeout | 1<<Refusal | 1<<Error
	}
	set := uint8(0)
	for _, c := range s.On {
		set |= 1 << c
	}
	return set
}
