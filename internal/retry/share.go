package retry

import (
	"shedload/internal/draw"
	"shedload/internal/work"
)

// share is a retry budget that is a share of the requests: of the last window, or
// of all so far.
type share struct {
	charge      Charge
	ratio       Thousandths
	reserve     int64
	atLeast     int64
	minRequests int64
	counts      window
}

// What a share's window counts.
const (
	requests = iota
	retries
)

func newShare(g GateSpec) *share {
	s := &share{
		charge: *g.Charge, ratio: *g.Ratio,
		reserve: value(g.Reserve), atLeast: value(g.AtLeast), minRequests: value(g.MinRequests),
	}
	if g.Window != nil {
		s.counts = newWindow(*g.Window)
	}
	return s
}

// value returns *p, and 0 for a parameter that the kind does not have.
func value(p *int) int64 {
	if p == nil {
		return 0
	}
	return int64(*p)
}

// Allow counts a first try, and counts a retry if there is room for it.
func (s *share) Allow(now work.Instant, a Ask, _ draw.Rand) bool {
	s.counts.roll(now)
	switch {
	case a.Attempt == 1:
		s.counts.add(now, requests, 1)
		return true
	case !s.charge.at(a.When):
		return true
	case s.counts.sum[requests] >= s.minRequests && s.left() <= 0:
		return false
	}
	s.counts.add(now, retries, 1)
	return true
}

// Observe takes back what was not used.
func (s *share) Observe(now work.Instant, a Ask, r work.Result) {
	switch {
	case r.Outcome != 0:
	case a.Attempt == 1:
		s.counts.add(now, requests, -1)
	case s.charge.at(a.When):
		s.counts.add(now, retries, -1)
	}
}

// left returns how many more retries the ratio has room for.
func (s *share) left() int64 {
	limit := s.reserve + s.counts.sum[requests]*int64(s.ratio)/int64(One)
	return max(limit, s.atLeast) - s.counts.sum[retries]
}

func (s *share) gauge(g *Gauges) {
	s.counts.roll(g.At)
	left := s.left()
	if s.counts.sum[requests] < s.minRequests {
		left = max(1, left)
	}
	g.budget(Thousandths(left) * One)
}
