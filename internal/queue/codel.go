package queue

import (
	"math"
	"time"

	"shedload/internal/work"
)

// codel is the control law of RFC 8289, asked at each dequeue about the oldest
// unit. The RFC's one loop over packets is spread here over one call a unit: a
// dropped head is followed, in the same Take, by the question about the next.
type codel struct {
	target, interval time.Duration

	firstAbove work.Instant // when the sojourn will have been above target for an interval
	dropNext   work.Instant
	busySince  work.Instant
	count      int
	lastCount  int
	above      bool // firstAbove is set
	dropping   bool
	dropped    bool // the unit before this one was dropped while dropping
}

func (c *codel) Drop(u work.Unit, v View, now work.Instant) work.Reason {
	if v.BusySince != c.busySince {
		// The queue has been empty: the RFC leaves dropping when it finds nothing.
		c.busySince, c.above, c.dropping = v.BusySince, false, false
	}
	ok := c.mayDrop(u, v, now)
	if !c.dropping {
		if ok {
			c.enter(now)
			return work.Codel
		}
		return work.None
	}
	if !ok {
		c.dropping = false
		return work.None
	}
	if c.dropped {
		c.dropped = false
		c.dropNext = c.law(c.dropNext)
	}
	if now < c.dropNext {
		return work.None
	}
	c.count++
	c.dropped = true
	return work.Codel
}

// mayDrop reports whether the sojourn has been above target for a whole interval.
// As in the RFC, a queue of no more than one further unit (its MTU) is never above:
// dropping that one would leave a worker idle.
func (c *codel) mayDrop(u work.Unit, v View, now work.Instant) bool {
	if now.Sub(u.Enqueued) < c.target || v.Len <= 2 {
		c.above = false
		return false
	}
	if !c.above {
		c.above = true
		c.firstAbove = now.Add(c.interval)
		return false
	}
	return now >= c.firstAbove
}

// enter starts to drop. When the last time was a short while ago it resumes near
// the rate that controlled the queue then.
func (c *codel) enter(now work.Instant) {
	delta := c.count - c.lastCount
	c.count = 1
	if delta > 1 && now.Sub(c.dropNext) < 16*c.interval {
		c.count = delta
	}
	c.lastCount = c.count
	c.dropNext = c.law(now)
	c.dropping, c.dropped = true, false
}

// law spaces drops by interval over the square root of their count. Both
// operations are exactly rounded, so every machine computes the same instants.
func (c *codel) law(t work.Instant) work.Instant {
	return t.Add(time.Duration(float64(c.interval) / math.Sqrt(float64(c.count))))
}

// controlledDelay is the simpler law that Maurer's "Fail at Scale" names after
// CoDel: a queue that was empty within the last interval may hold a burst for an
// interval, one that was not may hold nothing for longer than the target.
type controlledDelay struct{ target, interval time.Duration }

func (c controlledDelay) Drop(u work.Unit, v View, now work.Instant) work.Reason {
	bound := c.interval
	if now.Sub(v.BusySince) > c.interval {
		bound = c.target
	}
	if now.Sub(u.Enqueued) > bound {
		return work.Sojourn
	}
	return work.None
}
