// Package sim runs a plan in virtual time. It drives the very code that the live
// processes drive (station, population, service, ledger) and adds only delivery:
// an event loop, and messages that take no time.
//
// A run depends on its plan alone: it is single-threaded, its events are totally
// ordered, and its draws are keyed. Several runs may go on at once.
package sim

import (
	"fmt"

	"shedload/internal/arrival"
	"shedload/internal/fluid"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/station"
	"shedload/internal/work"
)

// Result is a run that is over.
type Result struct {
	Ledger  *ledger.Ledger
	Summary ledger.Summary
	// Events is the number of events that the loop went through, or of moves in steps.
	Events int64
}

// Run runs p to its horizon, event by event or, if p has a model.step, in steps
// (package fluid). The error names what in p virtual time cannot do.
func Run(p scenario.Plan) (Result, error) {
	if p.Model.Step > 0 {
		r, err := fluid.Run(p)
		return Result{Ledger: r.Ledger, Summary: r.Summary, Events: r.Moves}, err
	}
	return Watch(p, nil)
}

// Watch is Run event by event, and tells see of each ledger event as it happens.
func Watch(p scenario.Plan, see func(ledger.Event)) (Result, error) {
	s, err := newSimulation(p, see)
	if err != nil {
		return Result{}, fmt.Errorf("simulate %s/%s: %w", p.Scenario, p.Variant, err)
	}
	s.run()
	return Result{Ledger: s.ledger, Summary: s.summary(), Events: s.events}, nil
}

// simulation is a run under way.
//
//	arrival.Schedule ─→ population.Group ─ Send ─→ station.Station ─ Take ─→ service.Model
//	        ↑ Wake             ↑──────── Reply ────────┘  ↑─────── Finish ───────┘
//	        └───────── Loop: (time, phase, sequence) ─────┘
type simulation struct {
	Loop
	plan    scenario.Plan
	now     work.Instant
	end     work.Instant
	events  int64
	ledger  *ledger.Ledger
	record  func(ledger.Event) // to the ledger, and to whoever watches
	station *station.Station
	model   *service.Model
	groups  []*group
	replies []reply

	sequenceID uint64       // of attempts
	dispatched work.Instant // the instant for which a dispatch is scheduled
	ticking    work.Instant // the instant for which a tick is scheduled

	left       int          // workers that the faults leave
	nextChange work.Instant // of left
}

// group is one client group, or the part of it that one client process has.
type group struct {
	*population.Group
	sim      *simulation
	index    uint32 // in simulation.groups
	client   int    // in plan.Clients
	schedule *arrival.Schedule
	parts    []*group // of the same client, for the one that has the schedule
	arrived  uint64
	resumes  *resumes // nil unless retries resume
	leaves   *leaves  // nil unless clients that leave take their work with them
}

func newSimulation(p scenario.Plan, see func(ledger.Event)) (*simulation, error) {
	s := &simulation{plan: p, end: work.Instant(p.Horizon), dispatched: -1, ticking: work.Never}
	config := p.Ledger()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s.ledger = ledger.New(config)
	s.record = s.ledger.Record
	if see != nil {
		s.record = func(e ledger.Event) {
			see(e)
			s.ledger.Record(e)
		}
	}
	var err error
	if s.station, err = station.New(p.Station(), s, s.record); err != nil {
		return nil, err
	}
	if s.model, err = service.New(p.Service()); err != nil {
		return nil, err
	}
	for client := range p.Clients {
		if err := s.addClient(client); err != nil {
			return nil, fmt.Errorf("client %s: %w", p.Clients[client].Name, err)
		}
	}
	return s, nil
}

func (s *simulation) addClient(client int) error {
	c := s.plan.Clients[client]
	schedule, err := s.plan.Schedule(client)
	if err != nil {
		return err
	}
	parts := make([]*group, max(1, c.Processes))
	for part := range parts {
		g := &group{sim: s, index: uint32(len(s.groups)), client: client, parts: parts}
		if c.Retry.Resume {
			g.resumes = newResumes()
		}
		if c.Wait == scenario.WaitClose && s.plan.Server.CancelAbandoned {
			g.leaves = &leaves{}
		}
		id := population.Identity{
			Client: uint16(client), Part: uint16(part), Parts: uint16(len(parts)), Seed: s.plan.Seed,
			ClassOf: func(request uint64) uint8 { return s.plan.ClassOf(client, request&(1<<48-1)) },
		}
		if g.Group, err = population.New(s.plan.Population(client), id, g, s.record); err != nil {
			return err
		}
		parts[part] = g
		s.groups = append(s.groups, g)
	}
	parts[0].schedule = schedule
	return nil
}

func (s *simulation) run() {
	s.begin()
	for s.step() {
	}
	s.close()
}

// begin schedules what begins by itself.
func (s *simulation) begin() {
	for _, g := range s.groups {
		g.Start(0)
		if g.schedule != nil {
			g.scheduleArrival()
		}
	}
	s.at(second, Samples, happening(sample, 0, 0, 0))
	s.at(s.model.NextChange(0), Dispatch, happening(change, 0, 0, 0))
}

// step handles the next event; false when there is none before the end.
func (s *simulation) step() bool {
	e, ok := s.next(s.end)
	if !ok {
		return false
	}
	s.now = e.at
	s.events++
	s.handle(&e)
	return true
}

// close ends the run as the plan's End says. What is left where it is stays unfinished.
func (s *simulation) close() {
	s.now = s.end
	s.station.Sample(s.end)
	if s.plan.End.Queued == scenario.Shed {
		s.station.Close(s.end)
		s.deliver()
	}
	for s.plan.End.InService == scenario.Finish {
		e, ok := s.next(work.Never)
		if !ok {
			break
		}
		s.now = e.at
		if e.kind() == completion {
			s.handle(&e)
		}
	}
	for _, g := range s.groups {
		g.Close(s.now)
	}
}

func (s *simulation) summary() ledger.Summary {
	load := s.station.Load()
	held := int64(load.Queued + load.InService + load.Door)
	meta := s.plan.Meta("sim")
	meta.Held = &held
	return s.ledger.Summary(meta)
}
