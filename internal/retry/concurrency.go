package retry

import (
	"shedload/internal/draw"
	"shedload/internal/work"
)

// concurrency is a retry budget that is a share of the tries under way. A retry
// counts against it from its charge to its end; a try is under way from its sending.
type concurrency struct {
	charge   Charge
	ratio    Thousandths
	atLeast  int64
	underWay int64
	retries  int64
}

func newConcurrency(g GateSpec) *concurrency {
	return &concurrency{charge: *g.Charge, ratio: *g.Ratio, atLeast: int64(*g.AtLeast)}
}

// Allow counts a try in, unless it is a retry that there is no room for.
func (c *concurrency) Allow(_ work.Instant, a Ask, _ draw.Rand) bool {
	if a.Attempt > 1 && c.charge.at(a.When) {
		if c.left() <= 0 {
			return false
		}
		c.retries++
	}
	if a.When == Sent {
		c.underWay++
	}
	return true
}

// Observe counts a try out.
func (c *concurrency) Observe(_ work.Instant, a Ask, r work.Result) {
	if a.When == Sent {
		c.underWay--
	}
	if a.Attempt > 1 && (r.Outcome != 0 || c.charge.at(a.When)) {
		c.retries--
	}
}

func (c *concurrency) left() int64 {
	return max(c.underWay*int64(c.ratio)/int64(One), c.atLeast) - c.retries
}

func (c *concurrency) gauge(g *Gauges) { g.budget(Thousandths(c.left()) * One) }
