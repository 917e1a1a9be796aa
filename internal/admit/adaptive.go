package admit

import (
	"math"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// adaptive is what the learning limits share: a limit on queued plus in service
// that stays between a floor and a ceiling, grows slowly and shrinks sharply.
// Each product is rounded explicitly, so that all architectures agree.
type adaptive struct {
	spec    Spec
	workers int
	limit   float64      // 0 before the first decision
	cut     work.Instant // when the limit was last cut, or before everything
	base    baseline
	round   round
}

func newAdaptive(s Spec) adaptive {
	return adaptive{spec: s, cut: math.MinInt64, base: baseline{since: work.Never}}
}

func (a *adaptive) Admit(_ work.Unit, l Load, now work.Instant) Verdict {
	a.workers = l.Workers
	if a.limit == 0 {
		a.limit = float64(a.spec.Limit)
	}
	a.move(a.limit)
	if l.InFlight() >= int(a.limit) {
		return Verdict{Reason: work.Limit}
	}
	a.base.admitted(l, now)
	return Verdict{}
}

func (a *adaptive) Limit(work.Instant) int { return int(a.limit) }

// move sets the limit as far as the floor and the ceiling let it.
func (a *adaptive) move(to float64) {
	ceiling := a.spec.Ceiling
	if ceiling == 0 {
		ceiling = max(DefaultCeiling, 10*a.workers)
	}
	floor := a.spec.Floor
	if floor == 0 {
		floor = max(1, min(a.workers, ceiling))
	}
	a.limit = min(max(to, float64(floor)), float64(ceiling))
}

// shrink halves the limit, but only once for all the units that were already
// there when it was last cut: their drops are news of the same overload.
func (a *adaptive) shrink(s Sample, now work.Instant) {
	if arrived := now.Add(-s.Latency); arrived < a.cut {
		return
	}
	a.cut = now
	a.round = round{}
	a.move(a.limit / 2)
}

// accept deals with what is no good answer and reports whether s is one.
func (a *adaptive) accept(s Sample, now work.Instant) bool {
	if a.limit == 0 || s.Outcome == Ignored {
		return false
	}
	if s.Outcome == Dropped {
		a.shrink(s, now)
		return false
	}
	return true
}

// complete takes in a sample and reports the round that it completes: as many
// good answers as the limit, so that a whole limit's worth has been seen since
// the last change. It keeps to itself a round that left half of the limit unused,
// and one without a baseline to hold it against: then the limit shrinks until
// units find free workers.
func (a *adaptive) complete(s Sample, now work.Instant) (round, bool) {
	if !a.accept(s, now) {
		return round{}, false
	}
	a.base.learn(s, now)
	a.round.add(s)
	r := a.round
	if r.answers < int(a.limit) {
		return r, false
	}
	a.round = round{}
	if a.base.count == 0 {
		a.move(a.limit / 2)
		return r, false
	}
	return r, a.used(r.inFlight)
}

// used reports whether at least half of the limit was in use: a limit that
// nobody needs says nothing about what the server can take.
func (a *adaptive) used(inFlight int) bool { return 2*inFlight >= int(a.limit) }

// round collects the answers since the last change of the limit.
type round struct {
	answers  int
	sum      time.Duration
	inFlight int // the largest
}

func (r *round) add(s Sample) {
	r.answers++
	r.sum += s.Latency
	r.inFlight = max(r.inFlight, s.InFlight)
}

// stretch returns how many times the baseline the answers took, from just above 0.
func (r *round) stretch(b baseline) float64 {
	return max(1, float64(r.sum)/float64(r.answers)) / max(1, b.mean)
}

// baseline is what an answer takes when nobody is in the way. It learns only from
// units during whose whole stay each unit found a free worker, so that an
// overload, which has no such units, cannot teach it that waiting is normal.
// Where there never are any, the limit shrinks to its floor, which is the number
// of workers, and then there are.
type baseline struct {
	mean  float64
	count float64
	// since is when units began to find free workers; work.Never when the last did not.
	since work.Instant
}

const baselineMemory = 64

func (b *baseline) admitted(l Load, now work.Instant) {
	if l.InFlight() >= l.Workers {
		b.since = work.Never
	} else if b.since == work.Never {
		b.since = now
	}
}

func (b *baseline) learn(s Sample, now work.Instant) {
	if now.Add(-s.Latency) < b.since {
		return
	}
	b.count = min(b.count+1, baselineMemory)
	b.mean += (float64(s.Latency) - b.mean) / b.count
}

// aimd adds one to the limit for each limit's worth of good answers and halves it
// on a drop. (Chiu and Jain, "Analysis of the increase and decrease algorithms
// for congestion avoidance in computer networks", 1989; as a concurrency limit
// in Netflix's concurrency-limits.)
type aimd struct {
	adaptive
	latency time.Duration
}

func (p *aimd) Learn(s Sample, now work.Instant) {
	if p.latency > 0 && s.Latency > p.latency && s.Outcome == OK {
		s.Outcome = Dropped
	}
	if p.accept(s, now) && p.used(s.InFlight) {
		p.move(p.limit + 1/p.limit)
	}
}

// gradient2 multiplies the limit by how much longer answers take than the
// baseline, with a tolerance, and adds room for a short queue. It differs from
// the Gradient2Limit of Netflix's concurrency-limits in its baseline, which there
// is a long average of all answers and follows an overload, and in taking a
// smaller limit at once.
type gradient2 struct{ adaptive }

const (
	gradientTolerance = 1.5
	gradientSmoothing = 0.2 // of the way up, each round
	gradientFloor     = 0.5
)

func (p *gradient2) Learn(s Sample, now work.Instant) {
	r, done := p.complete(s, now)
	if !done {
		return
	}
	gradient := min(1, max(gradientFloor, gradientTolerance/r.stretch(p.base)))
	target := float64(p.limit*gradient) + math.Sqrt(p.limit)
	if target > p.limit {
		target = p.limit + float64(gradientSmoothing*(target-p.limit))
	}
	p.move(target)
}

// vegas estimates how many of those in flight are waiting, and keeps that number
// between alpha and beta; what is beyond beta it gives up at once. (Brakmo and Peterson, "TCP Vegas", 1995; VegasLimit in
// Netflix's concurrency-limits, whose baseline is forgotten now and then, under
// overload too, while this one is only ever learnt from units that did not wait.)
type vegas struct{ adaptive }

const (
	vegasAlpha = 3
	vegasBeta  = 6
)

func (p *vegas) Learn(s Sample, now work.Instant) {
	r, done := p.complete(s, now)
	if !done {
		return
	}
	step := max(1, draw.Ln(p.limit)/math.Ln10)
	switch waiting := p.limit - p.limit/r.stretch(p.base); {
	case waiting < float64(vegasAlpha*step):
		p.move(p.limit + step)
	case waiting > float64(vegasBeta*step):
		p.move(p.limit - (waiting - float64(vegasBeta*step)) - step)
	}
}
