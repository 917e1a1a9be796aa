package arrival

import (
	"math/bits"

	"shedload/internal/work"
)

// Skip takes off all arrivals before t and returns how many there were. Even
// arrivals are not counted one by one, so that it takes as long for a million as for one.
func (q *Schedule) Skip(t work.Instant) uint64 {
	if q.spec.Until != 0 {
		t = min(t, work.Instant(q.spec.Until))
	}
	first := q.index
	if q.random || q.spec.Kind == Burst || q.spec.Kind == Trace {
		for at, ok := q.find(); ok && at < t; at, ok = q.find() {
			q.Next()
		}
		return q.index - first
	}
	if t <= q.last {
		return 0
	}
	for q.seg.to < t {
		q.passed = q.passed.plus(q.seg.total())
		q.seg = q.segmentAt(q.seg.to)
	}
	// The k-th arrival is the first nanosecond at which Λ has reached k, so those
	// before t are those that Λ has reached one nanosecond earlier.
	reached := q.passed.plus(q.seg.until(t - 1))
	due := !reached.less(q.target)
	if q.seg.r0 == 0 && q.seg.r1 == 0 { // what was due as the rate fell to 0 comes when it rises
		due = q.target.less(reached)
		reached = reached.minus(amount{low: 1})
	}
	if due {
		q.index += reached.minus(q.target).whole() + 1
		q.target = times(q.index)
	}
	q.last = max(q.last, t)
	return q.index - first
}

// whole returns the whole arrivals in a.
func (a amount) whole() uint64 {
	n, _ := bits.Div64(a.high, a.low, perArrival)
	return n
}

// times returns n arrivals.
func times(n uint64) amount {
	high, low := bits.Mul64(n, perArrival)
	return amount{high, low}
}
