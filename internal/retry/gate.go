package retry

import (
	"fmt"
	"slices"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// When is how far a try has come.
type When uint8

// The two moments at which gates are asked.
const (
	// Scheduled: an attempt failed and its retry is about to be scheduled.
	Scheduled When = iota + 1
	// Sent: the try is about to leave.
	Sent
)

// Ask is the try that a gate is asked about.
type Ask struct {
	// Attempt numbers the tries of the request from 1, resumes included.
	Attempt int
	When    When
	// Cause is what failed the try before this one; 0 for the first.
	Cause Cause
	// Sent is the instant at which the try left, or is about to; 0 while it is
	// only scheduled.
	Sent work.Instant
}

// Gate decides whether a try may be made. One Gate serves all calls of a client.
//
// Allow is asked when a retry is scheduled and when a try is sent, and takes in the
// same call whatever it grants, so that two callers cannot both have the last
// token. What Allow has granted ends in exactly one Observe with the same Attempt
// and Cause: the result of a try that was sent; or the zero Result, When as it was
// granted, for one that never was, which gives back what Allow took.
type Gate interface {
	Allow(now work.Instant, a Ask, rnd draw.Rand) bool
	Observe(now work.Instant, a Ask, r work.Result)
}

// gauged is a Gate with something to show.
type gauged interface{ gauge(g *Gauges) }

// Gauges are what a client's gates have to show at one instant.
type Gauges struct {
	// Budgets counts the retry budgets. Balance is how many retries the poorest
	// of them would grant now; 0 without one.
	Budgets int
	Balance Thousandths
	// Throttle is the largest probability with which an adaptive throttle
	// rejects a try now.
	Throttle float64
	// Breakers counts the circuit breakers. Breaker is the state of the one that
	// lets least through.
	Breakers int
	Breaker  BreakerState
	// At is the instant that the gauges are asked for.
	At work.Instant
}

// Gates are all gates of a client, asked as one. Those that only answer are asked
// first and those that spend last, so that a refusal costs as little as possible.
type Gates []Gate

// NewGates builds the gates of specs, in the order in which they are asked.
func NewGates(specs []GateSpec) (Gates, error) {
	for i, s := range specs {
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("gates[%d].%w", i, err)
		}
	}
	ordered := slices.Clone(specs)
	slices.SortStableFunc(ordered, func(a, b GateSpec) int { return a.Kind.rank() - b.Kind.rank() })
	gates := make(Gates, len(ordered))
	for i, s := range ordered {
		gates[i] = s.build()
	}
	return gates, nil
}

// Allow asks each gate until one refuses; those before it get back what they granted.
func (g Gates) Allow(now work.Instant, a Ask, rnd draw.Rand) bool {
	for i, gate := range g {
		if !gate.Allow(now, a, rnd) {
			g[:i].Observe(now, a, work.Result{})
			return false
		}
	}
	return true
}

// Observe tells each gate.
func (g Gates) Observe(now work.Instant, a Ask, r work.Result) {
	for _, gate := range g {
		gate.Observe(now, a, r)
	}
}

// Gauges returns what the gates have to show at now.
func (g Gates) Gauges(now work.Instant) Gauges {
	out := Gauges{At: now}
	for _, gate := range g {
		if s, ok := gate.(gauged); ok {
			s.gauge(&out)
		}
	}
	return out
}

// budget adds one budget's balance.
func (g *Gauges) budget(balance Thousandths) {
	if g.Budgets == 0 || balance < g.Balance {
		g.Balance = balance
	}
	g.Budgets++
}
