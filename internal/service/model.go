package service

import (
	"fmt"
	"math"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// Config is what a Model starts with.
type Config struct {
	Seed draw.Seed
	// ServiceTime is that of every class without one of its own.
	ServiceTime Spec
	// Classes names the classes, by index.
	Classes []string
	// PerClass holds the classes' own service times, by index; a zero Spec means
	// ServiceTime. It may be shorter than Classes.
	PerClass []Spec
	// Compartments names the compartment of each class, by index, for Bulkheads.
	Compartments []string
	Bulkheads    Bulkheads
	Degrade      Degrade
	// Faults are all that is known beforehand; At counts from instant 0.
	Faults []Fault
}

// Model answers how long work takes and how many workers may start some. It is
// the same in the simulator and in the live worker. Not safe for concurrent use.
type Model struct {
	config  Config
	windows []window
	walls   []*wall // by class
}

// Job is the work that a unit stands for.
type Job struct {
	// Request and Attempt select the draw; the same attempt draws the same time.
	Request uint64
	Attempt uint16
	Class   uint8
	// Load is that of the server at the start, this job in service included.
	Load Load
}

// MaxFaults bounds the faults of a Model; those long over do not count.
const MaxFaults = 1000

// kept is how long a fault that is over is remembered: work that started before
// it may still have to be stretched by it.
const kept = MaxTime

// New returns a Model, or says what is wrong with c.
func New(c Config) (*Model, error) {
	if err := c.ServiceTime.Validate(); err != nil {
		return nil, fmt.Errorf("service_time: %w", err)
	}
	for i, s := range c.PerClass {
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("service_time of class %d: %w", i, err)
		}
	}
	if err := c.Degrade.Validate(); err != nil {
		return nil, err
	}
	if err := c.Bulkheads.Validate(c.Compartments); err != nil {
		return nil, err
	}
	m := &Model{config: c, walls: c.walls()}
	for _, f := range c.Faults {
		if err := m.Add(f, 0); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Add brings in a fault whose At counts from now.
func (m *Model) Add(f Fault, now work.Instant) error {
	if err := f.Validate(m.config.Classes); err != nil {
		return err
	}
	live := m.windows[:0]
	for _, w := range m.windows {
		if w.to.Add(kept) > now {
			live = append(live, w)
		}
	}
	m.windows = live
	if len(m.windows) >= MaxFaults {
		return fmt.Errorf("fault: there are %d already, the most that is allowed", MaxFaults)
	}
	from := now.Add(f.At)
	m.windows = append(m.windows, window{Fault: f, from: from, to: from.Add(f.For), class: indexOf(m.config.Classes, f.Class)})
	return nil
}

// Time returns how long the job that starts now keeps its worker, as far as the
// faults are known: Work, stretched by the pauses ahead.
func (m *Model) Time(j Job, now work.Instant) time.Duration {
	return m.End(now, m.Work(j, now)).Sub(now)
}

// Work returns the working time of the job that starts now; later changes do not
// alter it. The service time is the last one named by a fault whose window holds
// now, else the class's, else the common one; it is multiplied by the factors of
// all such faults and of the degradation.
func (m *Model) Work(j Job, now work.Instant) time.Duration {
	spec := m.config.ServiceTime
	if int(j.Class) < len(m.config.PerClass) && !m.config.PerClass[j.Class].IsZero() {
		spec = m.config.PerClass[j.Class]
	}
	factor, hangs := m.config.Degrade.Factor(j.Load), now
	for i := range m.windows {
		w := &m.windows[i]
		switch {
		case !w.concerns(j.Class, now):
		case w.ServiceTime != nil:
			spec = *w.ServiceTime
		case w.Factor != 0:
			factor = float64(factor * w.Factor)
		case w.Hang:
			hangs = max(hangs, w.to)
		}
	}
	took := spec.Draw(m.config.Seed.For(draw.Key{Purpose: draw.Service, Request: j.Request, Attempt: j.Attempt}))
	if factor != 1 {
		took = times(took, factor)
	}
	return max(took, hangs.Sub(now))
}

// End returns when a job that began at start and takes this much Work is over:
// the work does not proceed during pauses. It depends on the pauses known by
// now, so a driver that lets faults be added asks again when the end has come.
func (m *Model) End(start work.Instant, took time.Duration) work.Instant {
	at, left := start, took
	for {
		pause := m.nextPause(at)
		if pause == nil || at.Add(left) <= pause.from {
			return at.Add(left)
		}
		if at < pause.from {
			left -= pause.from.Sub(at)
		}
		at = pause.to
	}
}

// nextPause returns the pause in force at t, or else the next one; nil if none.
func (m *Model) nextPause(t work.Instant) *window {
	var next *window
	for i := range m.windows {
		w := &m.windows[i]
		if w.Pause && w.to > t && (next == nil || w.from < next.from) {
			next = w
		}
	}
	return next
}

// Capacity returns how many of the workers may be busy when one of them asks to
// start: none in a pause; under a capacity share that share of them, rounded,
// but at least one. Of several shares the smallest counts. Work that is already
// running beyond it goes on.
func (m *Model) Capacity(workers int, now work.Instant) int {
	share := 1.0
	for i := range m.windows {
		w := &m.windows[i]
		switch {
		case !w.contains(now):
		case w.Pause:
			return 0
		case w.CapacityShare != 0:
			share = min(share, w.CapacityShare)
		}
	}
	if share == 1 {
		return workers
	}
	return min(workers, max(1, int(math.Floor(float64(share*float64(workers))+0.5))))
}

// NextChange returns the next instant after now at which a fault begins or ends;
// work.Never if there is none. Capacity is constant until then.
func (m *Model) NextChange(now work.Instant) work.Instant {
	next := work.Never
	for i := range m.windows {
		if w := &m.windows[i]; w.from > now {
			next = min(next, w.from)
		} else if w.to > now {
			next = min(next, w.to)
		}
	}
	return next
}
