package arrival

import (
	"math"
	"math/bits"
	"time"

	"shedload/internal/work"
)

// micro is how many units of a rate make one arrival a second.
const micro = 1e6

// segment is a stretch of time in which the rate is constant or goes evenly from
// r0 to r1, both in millionths of an arrival a second.
type segment struct {
	from, to work.Instant // to may be work.Never, if the rate is constant
	r0, r1   uint64
}

// segmentAt returns the segment that starts at t, given the schedule's shape and
// phases.
func (q *Schedule) segmentAt(t work.Instant) segment {
	s := q.shapeAt(t)
	p := q.phaseAt(t)
	if p != nil {
		s = p.apply(s)
	}
	// A phase that begins or ends cuts the segment short.
	cut := s.to
	for i := range q.phases {
		if from := q.phases[i].from(); from > t {
			cut = min(cut, from)
		}
		if to := q.phases[i].to(); to > t {
			cut = min(cut, to)
		}
	}
	if s.r0 != s.r1 {
		s.r0, s.r1 = s.rateAt(t), s.rateAt(cut)
	}
	s.from, s.to = t, cut
	return s
}

// shapeAt returns the stretch of the client's own shape that holds t.
func (q *Schedule) shapeAt(t work.Instant) segment {
	s := q.spec
	start := work.Instant(s.From)
	switch s.Kind {
	case OnOff:
		start += (t - start) / work.Instant(s.On+s.Off) * work.Instant(s.On+s.Off)
		if on := start.Add(s.On); t < on {
			return constant(start, on, s.Rate)
		}
		return constant(start.Add(s.On), start.Add(s.On+s.Off), s.OffRate)
	case Ramp:
		if end := start.Add(s.Over); t < end {
			return segment{from: start, to: end, r0: millionths(s.Rate), r1: millionths(s.To)}
		}
		return constant(start.Add(s.Over), work.Never, s.To)
	default:
		return constant(start, work.Never, s.Rate)
	}
}

func constant(from, to work.Instant, rate float64) segment {
	r := millionths(rate)
	return segment{from: from, to: to, r0: r, r1: r}
}

func millionths(rate float64) uint64 { return uint64(float64(rate*micro) + 0.5) }

// phaseAt returns the last phase in the list that holds t.
func (q *Schedule) phaseAt(t work.Instant) *Phase {
	for i := len(q.phases) - 1; i >= 0; i-- {
		if q.phases[i].contains(t) {
			return &q.phases[i]
		}
	}
	return nil
}

// apply returns the part of s that lies in the phase, at the phase's rate.
func (p *Phase) apply(s segment) segment {
	from, to := max(s.from, p.from()), min(s.to, p.to())
	r0, r1 := s.rateAt(from), s.rateAt(to)
	whole := segment{from: p.from(), to: p.to()}
	switch {
	case p.Stop:
		r0, r1 = 0, 0
	case p.Rate != 0:
		whole.r0, whole.r1 = millionths(p.Rate), millionths(p.Rate)
		if p.To != 0 {
			whole.r1 = millionths(p.To)
		}
		return whole
	default:
		end := p.Factor
		if p.To != 0 {
			end = p.To
		}
		// The factor itself as a rate, so that it is interpolated alike. Where both
		// the shape and the factor go up or down, the rate between is a straight line.
		whole.r0, whole.r1 = millionths(p.Factor), millionths(end)
		r0, r1 = product(r0, whole.rateAt(from)), product(r1, whole.rateAt(to))
	}
	return segment{from: from, to: to, r0: r0, r1: r1}
}

// product returns r·factor, the factor in millionths, at most the largest rate.
func product(r, factor uint64) uint64 {
	high, low := bits.Mul64(r, factor)
	if high >= micro {
		return MaxRate * micro
	}
	quotient, _ := bits.Div64(high, low, micro)
	return min(quotient, MaxRate*micro)
}

// rateAt returns the rate at t in from..to.
func (s segment) rateAt(t work.Instant) uint64 {
	if s.r0 == s.r1 {
		return s.r0
	}
	part := func(change uint64) uint64 {
		high, low := bits.Mul64(change, uint64(t-s.from))
		quotient, _ := bits.Div64(high, low, uint64(s.to-s.from))
		return quotient
	}
	if s.r1 > s.r0 {
		return s.r0 + part(s.r1-s.r0)
	}
	return s.r0 - part(s.r0-s.r1)
}

// total returns the integral of the rate over the segment, which must end.
func (s segment) total() amount { return s.until(s.to) }

// until returns the integral of the rate from the start of the segment to t.
func (s segment) until(t work.Instant) amount {
	high, low := bits.Mul64(s.r0+s.rateAt(t), uint64(t-s.from))
	return amount{high >> 1, high<<63 | low>>1}
}

// reach returns the first instant at which the integral of the rate from the
// start of the segment is at least a; false if that never comes. In a segment
// that ends a must be below total.
func (s segment) reach(a amount) (work.Instant, bool) {
	if s.r0 != s.r1 {
		return s.reachOnRamp(a), true
	}
	if s.r0 == 0 || a.high >= s.r0 {
		return 0, false
	}
	after, rest := bits.Div64(a.high, a.low, s.r0)
	if rest > 0 {
		after++
	}
	if after > math.MaxInt64 {
		return 0, false
	}
	at := s.from.Add(time.Duration(after))
	return at, at != work.Never
}

// reachOnRamp is reach where the rate changes. It reckons from the lower end of
// the ramp, where nothing cancels out.
func (s segment) reachOnRamp(a amount) work.Instant {
	length := float64(s.to - s.from)
	if s.r0 < s.r1 {
		after := climb(a, float64(s.r0), float64(s.r1-s.r0)/length)
		return min(s.from+work.Instant(math.Ceil(after)), s.to-1)
	}
	left := climb(s.total().minus(a), float64(s.r1), float64(s.r0-s.r1)/length)
	return min(max(s.to-work.Instant(math.Floor(left)), s.from), s.to-1)
}

// climb solves rate·t + slope·t²/2 = a for t, in the form without a difference.
// It is off by a few parts in 10^16, and no error adds up, since a counts from the
// end of one ramp. Each product is rounded explicitly, so that all architectures
// agree.
func climb(a amount, rate, slope float64) float64 {
	x := a.float()
	if x == 0 {
		return 0
	}
	return float64(2*x) / (rate + math.Sqrt(float64(rate*rate)+float64(2*float64(slope*x))))
}
