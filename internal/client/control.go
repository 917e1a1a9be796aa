package client

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/work"
)

// AddPhase brings in a change of the load while it runs, such as a spike. Its At
// counts from instant 0 of the run; one that is past means now. It reaches the open
// loops that it names, or all. The error says what about p cannot be; nothing has
// changed then.
func (g *Generator) AddPhase(p arrival.Phase) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	p.At = max(p.At, time.Duration(now))
	if err := p.Validate(); err != nil {
		return err
	}
	over := func(old arrival.Phase) bool { return work.Instant(old.At+old.For) <= now }
	return g.change(p.Client, func(m *member) error {
		m.phases = append(slices.DeleteFunc(m.phases, over), p)
		return m.alter(func(s *arrival.Schedule) error { return s.Add(p, now) })
	})
}

// SetRate changes the rate of the open loop of that name, or of the only one if
// the name is empty, from now on. Phases still apply.
func (g *Generator) SetRate(client string, rate float64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if client == "" && len(g.members) > 1 {
		return errors.New("several clients: say which")
	}
	now := g.now()
	return g.change(client, func(m *member) error {
		return m.alter(func(s *arrival.Schedule) error { return s.SetRate(rate, now) })
	})
}

// change alters schedules. Errors come of their checks, which do not depend on
// which of the schedules it is, so that either all or none are altered.
func (g *Generator) change(client string, alter func(*member) error) error {
	found := false
	for _, m := range g.members {
		if m.schedule == nil || client != "" && client != m.spec.Population.Name {
			continue
		}
		found = true
		if err := alter(m); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("no open loop of a client %q", client)
	}
	if g.pool != nil {
		g.pool.reserve = g.reserve()
		g.pool.refill(g.pool.reserve)
	}
	g.rouse(awake)
	return nil
}

// The reserve of connections: some, and the new requests of a tenth of a second
// at the highest rate.
const (
	reserveBase = 32
	reserveTime = 100 * time.Millisecond
)

func (g *Generator) reserve() int {
	return reserveBase + g.sum(func(m *member) float64 { return m.highest() * reserveTime.Seconds() })
}

// Conns returns how many connections the raw groups will have open at least when
// nothing is answered: the new requests of one patience at the highest rate, and a
// reserve. Retries that pause come on top.
func (g *Generator) Conns() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conns(math.MaxInt64)
}

// conns is Conns for the first d in which nothing is answered.
func (g *Generator) conns(d time.Duration) int {
	return g.reserve() + g.sum(func(m *member) float64 {
		s := m.spec.Population
		return m.highest()*min(d, s.Patience).Seconds() + float64(s.Users+m.spec.Arrivals.Count)
	})
}

// sum adds up over the members with raw connections, rounding up.
func (g *Generator) sum(of func(*member) float64) int {
	n := 0.0
	for _, m := range g.members {
		if m.spec.raw(g.target) {
			n += of(m)
		}
	}
	return int(math.Ceil(n))
}

// highest returns the highest rate of new requests; 0 for a burst and for a closed
// loop, which have a number and no rate.
func (m *member) highest() float64 {
	if m.schedule == nil || m.spec.Arrivals.Kind == arrival.Burst {
		return 0
	}
	rate := 0.0
	for _, at := range m.changes() {
		rate = max(rate, m.schedule.Rate(at))
	}
	return rate
}

// changes are instants among which is one of the highest rate.
func (m *member) changes() []work.Instant {
	s := m.spec.Arrivals
	at := []work.Instant{work.Instant(s.From), work.Instant(s.From + s.Over), work.Instant(s.From + s.On)}
	for _, p := range m.phases {
		at = append(at, work.Instant(p.At), work.Instant(p.At+p.For-1))
	}
	for _, t := range s.Trace {
		at = append(at, t.Add(s.From))
	}
	return at
}
