package admit

import (
	"math"
	"time"

	"shedload/internal/work"
)

const (
	countQueue    = "queue"
	countInSystem = "in_system"
)

// priority keeps room for the important: each class may fill the server only up
// to a threshold of its own. The thresholds apply to what all classes together
// have there, so that the unimportant stop first.
type priority struct {
	inSystem bool
	limits   [work.MaxClasses]int
	highest  int
}

func newPriority(s Spec, classes []work.Class) *priority {
	p := &priority{inSystem: s.Count == countInSystem}
	for i := range p.limits {
		p.limits[i] = s.Limit
	}
	p.highest = s.Limit
	for i, c := range classes {
		own, found := s.PerClass[c.Name]
		if !found {
			own, found = s.PerClass[c.Criticality.String()]
		}
		if found {
			p.limits[i] = s.absolute(own)
			p.highest = max(p.highest, p.limits[i])
		}
	}
	return p
}

func (p *priority) Admit(u work.Unit, l Load, _ work.Instant) Verdict {
	there := l.Queued
	if p.inSystem {
		there = l.InFlight()
	}
	return refuseIf(there >= p.limits[u.Class], work.Priority)
}

func (p *priority) Limit(work.Instant) int { return p.highest }

// bulkheads gives each compartment a limit of its own on what it has in flight,
// so that one that hangs cannot take the workers of the others.
type bulkheads struct {
	wait time.Duration
	// compartment and limits are indexed by class.
	compartment [work.MaxClasses]string
	limits      [work.MaxClasses]int
}

func newBulkheads(s Spec, classes []work.Class) *bulkheads {
	p := &bulkheads{wait: s.Wait}
	for i := range p.limits {
		p.limits[i] = s.Limit
	}
	for i, c := range classes {
		p.compartment[i] = c.Compartment
		if own, found := s.PerClass[c.Compartment]; found {
			p.limits[i] = s.absolute(own)
		}
	}
	return p
}

func (p *bulkheads) Admit(u work.Unit, l Load, now work.Instant) Verdict {
	there := 0
	for class, n := range l.PerClass {
		if p.compartment[class] == p.compartment[u.Class] {
			there += n
		}
	}
	if there < p.limits[u.Class] {
		return Verdict{}
	}
	return waitOrRefuse(u, p.wait, work.Bulkhead, now)
}

// absolute turns a limit below 1, which is a share of Limit, into units: rounded
// down, but at least one.
func (s Spec) absolute(limit float64) int {
	if limit >= 1 {
		return int(limit)
	}
	return max(1, int(math.Floor(float64(limit*float64(s.Limit))+1e-9)))
}
