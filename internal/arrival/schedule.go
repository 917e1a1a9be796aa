package arrival

import (
	"fmt"
	"sort"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// Schedule yields the arrivals of one client group. It is closed form: with
// Λ(t) the integral of the rate from From to t, the k-th even arrival (from 0) is
// the first nanosecond at which Λ has reached k, and the k-th Poisson arrival that
// at which Λ has reached the sum of the first k+1 unit exponential draws. Λ is
// exact in integers where the rate is constant, and goes on across a change of
// the rate: a gap that is half over when the rate doubles has a quarter of its
// former length to go. Not safe for concurrent use.
type Schedule struct {
	spec   Spec
	phases []Phase
	seed   draw.Seed
	client uint16

	index  uint64       // of the next arrival
	target amount       // Λ at the next arrival
	last   work.Instant // the last arrival handed out
	seg    segment      // where it lies
	passed amount       // Λ at the start of seg
	random bool         // targets are drawn
}

// New returns the schedule of the client group with the given index, or says what
// is wrong. The phases are those that concern it (see PhasesOf). Poisson arrivals
// depend on nothing but seed, client, rates and phases.
func New(s Spec, phases []Phase, seed draw.Seed, client uint16) (*Schedule, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if len(phases) > MaxPhases {
		return nil, fmt.Errorf("%d phases, at most %d are allowed", len(phases), MaxPhases)
	}
	for _, p := range phases {
		if err := p.Validate(); err != nil {
			return nil, err
		}
	}
	q := &Schedule{spec: s, phases: append([]Phase(nil), phases...), seed: seed, client: client}
	q.random = s.Poisson || s.Kind == Poisson
	q.last = work.Instant(s.From)
	q.seg = q.segmentAt(work.Instant(s.From))
	if q.random {
		q.target = q.gap()
	}
	return q, nil
}

// Next returns the next arrival; false when there are no more. Arrivals never
// fall. After false, Add and SetRate may bring more.
func (q *Schedule) Next() (work.Instant, bool) {
	at, ok := q.find()
	if !ok || (q.spec.Until != 0 && at >= work.Instant(q.spec.Until)) {
		return 0, false
	}
	q.index++
	q.last = at
	if q.random {
		q.target = q.target.plus(q.gap())
	} else {
		q.target = q.target.plus(whole)
	}
	return at, true
}

// find returns the arrival at the target.
func (q *Schedule) find() (work.Instant, bool) {
	switch q.spec.Kind {
	case Burst:
		return work.Instant(q.spec.From), q.index < uint64(q.spec.Count)
	case Trace:
		if q.index >= uint64(len(q.spec.Trace)) {
			return 0, false
		}
		return q.spec.Trace[q.index].Add(q.spec.From), true
	}
	seg, passed := q.seg, q.passed
	for {
		ahead := q.target.minus(passed)
		if seg.to == work.Never {
			at, ok := seg.reach(ahead)
			if ok {
				q.seg, q.passed = seg, passed
			}
			return max(at, q.last), ok
		}
		if total := seg.total(); !ahead.less(total) {
			passed = passed.plus(total)
			seg = q.segmentAt(seg.to)
			if q.spec.Until != 0 && seg.from >= work.Instant(q.spec.Until) {
				return 0, false
			}
			continue
		}
		at, _ := seg.reach(ahead)
		q.seg, q.passed = seg, passed
		return max(at, q.last), true
	}
}

// gap draws the distance in Λ to the arrival with q.index.
func (q *Schedule) gap() amount {
	rnd := q.seed.For(draw.Key{Purpose: draw.Arrival, Client: q.client, Request: q.index})
	return fromFixed(rnd.Exponential())
}

// Add brings in a phase, whose At counts from instant 0, at now: arrivals that
// were handed out stay, later ones follow the new rate. Phases that are over are
// forgotten.
func (q *Schedule) Add(p Phase, now work.Instant) error {
	if err := p.Validate(); err != nil {
		return err
	}
	live := make([]Phase, 0, len(q.phases)+1)
	for _, old := range q.phases {
		if old.to() > now {
			live = append(live, old)
		}
	}
	if len(live) >= MaxPhases {
		return fmt.Errorf("phase %q: there are %d already, the most that is allowed", p.Name, MaxPhases)
	}
	q.change(now, func() { q.phases = append(live, p) })
	return nil
}

// SetRate makes rate the rate from now on, outside phases. The arrivals must be
// even or Poisson.
func (q *Schedule) SetRate(rate float64, now work.Instant) error {
	if q.spec.Kind != Even && q.spec.Kind != Poisson {
		return fmt.Errorf("arrivals %s: the rate of even and poisson arrivals alone can be set", q.spec.Kind)
	}
	if err := validateRate("rate", rate); err != nil {
		return err
	}
	q.change(now, func() { q.spec.Rate = rate })
	return nil
}

// change alters the rate from now on; what has been handed out stays as it is.
func (q *Schedule) change(now work.Instant, alter func()) {
	now = max(now, q.last)
	for q.seg.to <= now {
		q.passed = q.passed.plus(q.seg.total())
		q.seg = q.segmentAt(q.seg.to)
	}
	q.passed = q.passed.plus(q.seg.until(now))
	alter()
	q.seg = q.segmentAt(now)
}

// PhaseAt returns the name of the phase in force at t, "" outside all phases.
func (q *Schedule) PhaseAt(t work.Instant) string {
	if p := q.phaseAt(t); p != nil {
		return p.Name
	}
	return ""
}

// Rate returns the nominal rate at t, in arrivals a second; for a burst or a trace
// the number of its arrivals in the whole second that holds t.
func (q *Schedule) Rate(t work.Instant) float64 {
	switch {
	case t < work.Instant(q.spec.From) || (q.spec.Until != 0 && t >= work.Instant(q.spec.Until)):
		return 0
	case q.spec.Kind == Burst:
		if t/second == work.Instant(q.spec.From)/second {
			return float64(q.spec.Count)
		}
		return 0
	case q.spec.Kind == Trace:
		start := t/second*second - work.Instant(q.spec.From)
		return float64(before(q.spec.Trace, start+second) - before(q.spec.Trace, start))
	}
	return float64(q.segmentAt(t).r0) / micro
}

const second = work.Instant(time.Second)

func before(trace []work.Instant, t work.Instant) int {
	return sort.Search(len(trace), func(i int) bool { return trace[i] >= t })
}
