// Package fluid runs a plan in steps instead of event by event. All that is alike
// and happens in one step is moved as a whole: a cohort of attempts that enter in
// one step, and are of one client, class and try, is one number. So a run costs
// as much for a million requests a second as for a hundred.
//
// In each step, in this order:
//
//	arrivals  new requests join, then the retries due, lower tries first
//	service   workers end and begin units, each at its own instant within the step
//	give-ups  attempts whose patience ends with the step are given up
//
// The published one-second model is this with a step of a second. What clients do
// within a step is not seen: their requests come at its start, and their patience
// lasts to the end of the step in which it runs out. Service takes its mean time,
// and a unit counts for the step in which it ends. The more steps fit into a
// patience and a service time, the less that matters.
//
// It has the very queue, door, gates and retries that all engines have, asked
// about cohorts (doors and gates: about each member); it is a second
// implementation of none of them, only of what moves between them.
package fluid

import (
	"cmp"
	"fmt"
	"slices"

	"shedload/internal/admit"
	"shedload/internal/arrival"
	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/queue"
	"shedload/internal/retry"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/work"
)

// Result is a run that is over.
type Result struct {
	Ledger  *ledger.Ledger
	Summary ledger.Summary
	// Moves counts what was moved: cohorts that entered, were served, dropped,
	// answered or given up.
	Moves int64
}

// Run runs p in steps of p.Model.Step, which must be above 0. Loading a scenario
// refuses what a model in steps cannot do.
func Run(p scenario.Plan) (Result, error) {
	m, err := newModel(p)
	if err != nil {
		return Result{}, fmt.Errorf("simulate %s/%s in steps: %w", p.Scenario, p.Variant, err)
	}
	for m.now < m.end {
		m.arrivals()
		m.service()
		m.giveUps()
		m.sample()
		m.now += m.step
	}
	m.close()
	meta, held := p.Meta("sim"), m.queued+m.serving
	meta.Held = &held
	return Result{Ledger: m.ledger, Summary: m.ledger.Summary(meta), Moves: m.moves}, nil
}

type model struct {
	plan    scenario.Plan
	step    work.Instant
	now     work.Instant // start of the step at hand
	end     work.Instant
	ledger  *ledger.Ledger
	clients []*client

	door     admit.Policy
	queue    *queue.Queue // of cohorts: a unit stands for all of one
	work     *service.Model
	queued   int64   // members of the cohorts in queue
	serving  int64   // members in service
	perClass []int   // both, by class
	batches  batches // in service
	started  uint64  // batches begun so far
	lastID   uint64
	cohorts  map[uint64]*cohort
	ends     map[work.Instant][]*cohort // by the step with which their patience ends
	paused   map[work.Instant][]crowd   // by the step in which they are tried again
	moves    int64
}

// client is a client group.
type client struct {
	index    int
	schedule *arrival.Schedule
	policy   *retry.Policy
	gated    bool
	arrived  uint64
	asked    uint64 // members that gates were asked about: the keys of their draws
}

// crowd is a number of requests of which everything is alike.
type crowd struct {
	client *client
	class  uint8
	call   retry.Call
	n      int64
}

// cohort is a crowd whose attempts entered in one step.
type cohort struct {
	crowd             // n of them still wait
	unit    work.Unit // as the server knows each of them, with the cohort's ID
	queued  int64
	serving int64
}

func newModel(p scenario.Plan) (*model, error) {
	config := p.Ledger()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	station := p.Station()
	door, err := station.Door.New(station.Classes)
	if err != nil {
		return nil, fmt.Errorf("door: %w", err)
	}
	times, err := service.New(means(p.Service()))
	if err != nil {
		return nil, err
	}
	m := &model{
		plan: p, step: work.Instant(p.Model.Step), end: work.Instant(p.Horizon), ledger: ledger.New(config),
		door: door, queue: queue.New(station.Queue), work: times, perClass: make([]int, max(1, len(p.Classes))),
		cohorts: map[uint64]*cohort{}, ends: map[work.Instant][]*cohort{}, paused: map[work.Instant][]crowd{},
	}
	for i, c := range p.Clients {
		k := &client{index: i, gated: len(c.Gates) > 0}
		even := c.Arrivals
		even.Poisson = false
		if even.Kind == arrival.Poisson {
			even.Kind = arrival.Even
		}
		if k.schedule, err = arrival.New(even, arrival.PhasesOf(p.Phases, c.Name), p.Seed, uint16(i)); err != nil {
			return nil, fmt.Errorf("client %s: %w", c.Name, err)
		}
		if k.policy, err = retry.NewPolicy(c.Retry, c.Patience, c.RequestDeadline, c.Gates); err != nil {
			return nil, fmt.Errorf("client %s: %w", c.Name, err)
		}
		m.clients = append(m.clients, k)
	}
	return m, nil
}

// means replaces each service time by its mean.
func means(c service.Config) service.Config {
	fix := func(s service.Spec) service.Spec { return service.Spec{Kind: service.Fixed, A: s.Mean()} }
	c.ServiceTime = fix(c.ServiceTime)
	c.PerClass = slices.Clone(c.PerClass)
	for i, s := range c.PerClass {
		if !s.IsZero() {
			c.PerClass[i] = fix(s)
		}
	}
	c.Faults = slices.Clone(c.Faults)
	for i, f := range c.Faults {
		if f.ServiceTime != nil {
			fixed := fix(*f.ServiceTime)
			c.Faults[i].ServiceTime = &fixed
		}
	}
	return c
}

// arrivals lets the new requests of the step enter, then the retries due.
func (m *model) arrivals() {
	for _, c := range m.clients {
		for class, n := range m.wishes(c) {
			if n == 0 {
				continue
			}
			call := c.policy.Call(m.now)
			unit := work.Unit{Class: uint8(class)}
			m.record(ledger.Event{Kind: ledger.Wished, Unit: unit}, n)
			m.act(crowd{c, uint8(class), call, n}, retry.Input{Kind: retry.Begin})
		}
	}
	due := m.paused[m.now]
	delete(m.paused, m.now)
	slices.SortStableFunc(due, func(a, b crowd) int { return cmp.Compare(a.call.Tries(), b.call.Tries()) })
	for _, r := range due {
		m.act(r, retry.Input{Kind: retry.Woke})
	}
}

// wishes returns the number of new requests by class.
func (m *model) wishes(c *client) []int64 {
	n := c.schedule.Skip(min(m.now+m.step, m.end))
	byClass := make([]int64, max(1, len(m.plan.Classes)))
	if len(m.plan.Classes) < 2 {
		byClass[0] = int64(n)
	} else {
		for i := range n {
			byClass[m.plan.ClassOf(c.index, c.arrived+i)]++
		}
	}
	c.arrived += n
	return byClass
}

// act lets a crowd do what its clients do about in. Their gates may let some of
// them and not others, so each is asked; without gates all do the same.
func (m *model) act(r crowd, in retry.Input) {
	if !r.client.gated {
		call := r.call
		command := call.Step(m.now, in, draw.Rand{})
		m.do(crowd{r.client, r.class, call, r.n}, command)
		return
	}
	type way struct {
		call    retry.Call
		command retry.Command
	}
	var ways []way
	var counts []int64
	for range r.n {
		r.client.asked++
		w := way{call: r.call}
		key := w.call.DrawKey(draw.Key{Client: uint16(r.client.index), Request: r.client.asked})
		w.command = w.call.Step(m.now, in, m.plan.Seed.For(key))
		i := slices.Index(ways, w)
		if i < 0 {
			i = len(ways)
			ways, counts = append(ways, w), append(counts, 0)
		}
		counts[i]++
	}
	for i, w := range ways {
		m.do(crowd{r.client, r.class, w.call, counts[i]}, w.command)
	}
}

func (m *model) do(r crowd, c retry.Command) {
	switch c.Kind {
	case retry.Send:
		m.send(r)
	case retry.Wait:
		due := max((c.At+m.step-1)/m.step*m.step, m.now+m.step)
		m.paused[due] = append(m.paused[due], r)
	case retry.Stop:
		m.ended(r, population.EndOf(c.Why, r.call.Tries()))
	}
}

func (m *model) record(e ledger.Event, n int64) {
	e.At = m.now
	m.ledger.RecordN(e, n)
}
