// Package work names what the rest of shedload talks about: instants, units of
// work, classes, and how an attempt can end. It holds no behaviour beyond that.
package work

import (
	"math"
	"time"
)

// Instant is a point in time: nanoseconds since the start of a run (or, in a
// server, since the start of the process). It is the only time in the core, so
// that the same code runs against a wall clock and in virtual time.
type Instant int64

// Never is later than every instant that can be reached.
const Never Instant = math.MaxInt64

// Add returns t moved by d. Never stays Never, and a sum that would pass it saturates.
func (t Instant) Add(d time.Duration) Instant {
	if t == Never || (d > 0 && t > Never-Instant(d)) {
		return Never
	}
	return t + Instant(d)
}

// Sub returns the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Seconds returns t in seconds since the start.
func (t Instant) Seconds() float64 { return time.Duration(t).Seconds() }

// String formats t like a duration since the start; Never as "never".
func (t Instant) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}
