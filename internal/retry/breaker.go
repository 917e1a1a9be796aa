package retry

import (
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// BreakerState is what a circuit breaker lets through.
type BreakerState uint8

// The states, from all to nothing.
const (
	BreakerClosed   BreakerState = iota // everything
	BreakerHalfOpen                     // probes
	BreakerOpen                         // nothing
)

var breakerNames = []string{"closed", "half_open", "open"}

// String returns the text form.
func (s BreakerState) String() string { return breakerNames[s] }

// breaker stops all tries once too many have failed.
//
//	closed     failures ≥ ratio of at least min results in the window  → open
//	open       open for so long, at the next try                       → half-open
//	half-open  as many successes as probes → closed; a failure         → open
type breaker struct {
	ratio       Thousandths
	minRequests int64
	openFor     time.Duration
	probes      int

	state BreakerState
	// since is when the state was entered. The result of a try that left before
	// says nothing about the state that has come after, and is not counted.
	since     work.Instant
	underWay  int // probes
	succeeded int // probes
	counts    window
}

// What a breaker's window counts.
const (
	results = iota
	failures
)

func newBreaker(g GateSpec) *breaker {
	return &breaker{
		ratio: *g.FailureRatio, minRequests: int64(*g.MinRequests),
		openFor: *g.OpenFor, probes: *g.Probes, counts: newWindow(*g.Window),
	}
}

// Allow lets a try through that is about to be sent, first ones included.
func (b *breaker) Allow(now work.Instant, a Ask, _ draw.Rand) bool {
	if a.When != Sent {
		return true
	}
	if b.stateAt(now) == BreakerHalfOpen && b.state == BreakerOpen {
		b.enter(BreakerHalfOpen, now)
	}
	switch b.state {
	case BreakerOpen:
		return false
	case BreakerHalfOpen:
		if b.underWay+b.succeeded >= b.probes {
			return false
		}
		b.underWay++
	}
	return true
}

// Observe counts a result, and moves on when it decides.
func (b *breaker) Observe(now work.Instant, a Ask, r work.Result) {
	switch {
	case a.When != Sent || a.Sent < b.since:
	case b.state == BreakerClosed && r.Outcome != 0:
		b.count(now, r.Outcome != work.Succeeded)
	case b.state != BreakerHalfOpen:
	case r.Outcome == 0:
		b.underWay--
	case r.Outcome != work.Succeeded:
		b.enter(BreakerOpen, now)
	default:
		b.underWay--
		if b.succeeded++; b.succeeded == b.probes {
			b.enter(BreakerClosed, now)
		}
	}
}

func (b *breaker) count(now work.Instant, failed bool) {
	b.counts.add(now, results, 1)
	if failed {
		b.counts.add(now, failures, 1)
	}
	n := b.counts.sum[results]
	if n >= b.minRequests && b.counts.sum[failures]*int64(One) >= n*int64(b.ratio) {
		b.enter(BreakerOpen, now)
	}
}

func (b *breaker) enter(s BreakerState, now work.Instant) {
	b.state, b.since, b.underWay, b.succeeded = s, now, 0, 0
	b.counts.clear()
}

// stateAt returns the state at now: an open breaker whose time is over would probe.
func (b *breaker) stateAt(now work.Instant) BreakerState {
	if b.state == BreakerOpen && now >= b.since.Add(b.openFor) {
		return BreakerHalfOpen
	}
	return b.state
}

func (b *breaker) gauge(g *Gauges) {
	g.Breakers++
	g.Breaker = max(g.Breaker, b.stateAt(g.At))
}
