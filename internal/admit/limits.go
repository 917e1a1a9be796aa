package admit

import (
	"time"

	"shedload/internal/work"
)

// open admits everything.
type open struct{}

func (open) Admit(work.Unit, Load, work.Instant) Verdict { return Verdict{} }

// queueLimit bounds the queue; work in service does not count.
type queueLimit int

func (p queueLimit) Admit(_ work.Unit, l Load, _ work.Instant) Verdict {
	return refuseIf(l.Queued >= int(p), work.QueueFull)
}

func (p queueLimit) Limit(work.Instant) int { return int(p) }

// inSystem bounds queued plus in service.
type inSystem int

func (p inSystem) Admit(_ work.Unit, l Load, _ work.Instant) Verdict {
	return refuseIf(l.InFlight() >= int(p), work.InSystem)
}

func (p inSystem) Limit(work.Instant) int { return int(p) }

// concurrency bounds queued plus in service, with a bounded wait for a slot.
type concurrency struct {
	limit int
	wait  time.Duration
}

func (p concurrency) Admit(u work.Unit, l Load, now work.Instant) Verdict {
	if l.InFlight() < p.limit {
		return Verdict{}
	}
	return waitOrRefuse(u, p.wait, work.Concurrency, now)
}

func (p concurrency) Limit(work.Instant) int { return p.limit }

// infeasible refuses a unit that would miss its deadline behind those ahead of
// it: with W workers, n units in flight and the mean service time S, a worker
// gets to it after (n − W + 1)·S/W, and is done with it S later. While a worker
// is free it admits whatever the estimate says: a mean that has become too high
// could otherwise refuse everything and never be corrected by a new sample.
type infeasible struct{}

func (infeasible) Admit(u work.Unit, l Load, now work.Instant) Verdict {
	ahead := l.InFlight() - l.Workers + 1
	if u.Deadline == work.Never || l.Workers <= 0 || ahead <= 0 {
		return Verdict{}
	}
	wait := l.Service * time.Duration(ahead) / time.Duration(l.Workers)
	return refuseIf(now.Add(wait+l.Service) > u.Deadline, work.Infeasible)
}

func refuseIf(refuse bool, reason work.Reason) Verdict {
	if refuse {
		return Verdict{Reason: reason}
	}
	return Verdict{}
}

// waitOrRefuse lets u wait until wait has passed since its arrival, but not past
// its deadline, and refuses it then. It gives the same instant however often it
// is asked.
func waitOrRefuse(u work.Unit, wait time.Duration, reason work.Reason, now work.Instant) Verdict {
	until := min(u.Enqueued.Add(wait), u.Deadline)
	if now >= until {
		return Verdict{Reason: reason}
	}
	return Verdict{Reason: reason, WaitUntil: until}
}

// chain asks several doors in turn; the first that does not admit decides.
type chain []Policy

func (c chain) Admit(u work.Unit, l Load, now work.Instant) Verdict {
	for _, p := range c {
		if v := p.Admit(u, l, now); !v.Admitted() {
			return v
		}
	}
	return Verdict{}
}

func (c chain) Learn(s Sample, now work.Instant) {
	for _, p := range c {
		if learner, ok := p.(Learner); ok {
			learner.Learn(s, now)
		}
	}
}

// Limit returns the smallest limit of the doors that have one.
func (c chain) Limit(now work.Instant) int {
	limit := 0
	for _, p := range c {
		if limiter, ok := p.(Limiter); ok {
			if own := limiter.Limit(now); limit == 0 || own < limit {
				limit = own
			}
		}
	}
	return limit
}
