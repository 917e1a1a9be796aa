package sim

import (
	"time"

	"shedload/internal/population"
	"shedload/internal/service"
	"shedload/internal/station"
	"shedload/internal/work"
)

// kind is what an event is about.
type kind uint8

const (
	arrive     kind = iota // group: its next arrival
	timer                  // group; a: call and generation, b: population.TimerKind
	completion             // group: class, a: unit, b: working time in ns
	dispatch               // idle workers take units
	change                 // a fault begins or ends
	tick                   // the station has something to end
	sample                 // a second is over
)

const second = work.Instant(time.Second)

func (s *simulation) handle(e *event) {
	switch e.kind() {
	case arrive:
		s.groups[e.group()].arrive(s.now)
	case timer:
		s.groups[e.group()].woke(s.now, e)
	case completion:
		s.model.Leave(uint8(e.group()))
		s.station.Finish(e.a, station.Done{Work: time.Duration(e.b), OK: true}, s.now)
	case dispatch:
		s.dispatch()
	case change:
		s.dispatch()
		s.at(s.model.NextChange(s.now), Dispatch, happening(change, 0, 0, 0))
	case tick:
		s.ticking = work.Never
		s.station.Tick(s.now)
	case sample:
		s.station.Sample(s.now)
		s.at(s.now+second, Samples, happening(sample, 0, 0, 0))
	}
	s.deliver()
	s.follow()
}

// follow schedules what the state of the station asks for.
func (s *simulation) follow() {
	if load := s.station.Load(); load.Queued > 0 && s.dispatched != s.now && load.InService < s.capacity() {
		s.dispatched = s.now
		s.at(s.now, Dispatch, happening(dispatch, 0, 0, 0))
	}
	if at := s.station.NextTick(); at < s.ticking {
		s.ticking = at
		s.at(max(at, s.now), Ticks, happening(tick, 0, 0, 0))
	}
}

// capacity is the number of workers that the faults leave, kept until it changes.
func (s *simulation) capacity() int {
	if s.now >= s.nextChange {
		s.nextChange = s.model.NextChange(s.now)
		s.left = s.model.Capacity(s.plan.Backend.Workers, s.now)
	}
	return s.left
}

// dispatch lets idle workers take units.
func (s *simulation) dispatch() {
	s.dispatched = -1
	for {
		load := s.station.Load()
		if load.InService >= s.capacity() {
			return
		}
		u, ok := s.station.Take(s.now)
		if !ok {
			return
		}
		if !s.model.Enter(u.Class) { // its compartment has no worker left
			s.station.Finish(u.ID, station.Done{}, s.now)
			continue
		}
		job := service.Job{Request: u.Request, Attempt: u.Attempt, Class: u.Class, Load: service.Load{
			Queued: load.Queued - 1, InService: load.InService + 1, Workers: s.plan.Backend.Workers,
		}}
		took := s.model.Work(job, s.now)
		s.at(s.model.End(s.now, took), Completions, happening(completion, uint32(u.Class), u.ID, uint64(took)))
	}
}

// reply is an answer on its way to a group. It is delivered when the station is
// done with the event at hand, for the group may send at once.
type reply struct {
	unit   work.Unit
	result work.Result
}

// Ended implements station.Host.
func (s *simulation) Ended(u work.Unit, r work.Result) {
	s.replies = append(s.replies, reply{u, r})
}

func (s *simulation) deliver() {
	for i := 0; i < len(s.replies); i++ {
		r := s.replies[i]
		if r.result.Outcome == 0 || r.result.Outcome == work.Dropped && s.plan.Server.SilentDrops {
			continue
		}
		s.groups[groupOf(r.unit.ID)].reply(s.now, r.unit, r.result)
	}
	s.replies = s.replies[:0]
}

// A unit's ID says whose it is, so that no table of attempts is needed: a growing
// number, then the group, then the call. The limits are checked where they could be passed.
const (
	callBits  = 26 // 67 million requests under way in one group
	groupBits = 6  // as many groups as the client processes of a plan, at most 64
)

func groupOf(id uint64) uint32 { return uint32(id >> callBits & (1<<groupBits - 1)) }
func callOf(id uint64) uint32  { return uint32(id & (1<<callBits - 1)) }

func (s *simulation) newID(g *group, call uint32) uint64 {
	s.sequenceID++
	if call >= 1<<callBits || s.sequenceID >= 1<<(64-callBits-groupBits) {
		panic("sim: more attempts than unit IDs")
	}
	return s.sequenceID<<(callBits+groupBits) | uint64(g.index)<<callBits | uint64(call)
}

// Send implements population.Host: a message takes no time, so the attempt
// arrives as it leaves.
func (g *group) Send(a population.Attempt) {
	g.Sent(a, g.sim.now)
	if g.resumes != nil && g.resumes.join(g.sim, a) {
		return
	}
	u := work.Unit{
		ID: g.sim.newID(g, a.Call), Request: a.Request, Enqueued: g.sim.now, Deadline: a.Deadline,
		Attempt: a.Attempt, Class: a.Class,
	}
	if g.resumes != nil {
		g.resumes.start(u.ID, a)
	}
	if g.leaves != nil {
		g.leaves.sent(a.Call, u.ID, a.Deadline)
	}
	g.sim.station.Arrive(u, g.sim.now)
}

// Wake implements population.Host.
func (g *group) Wake(at work.Instant, t population.Timer) {
	g.sim.at(at, phaseOf[t.Kind], happening(timer, g.index, uint64(t.Call)<<32|uint64(t.Gen), uint64(t.Kind)))
}

var phaseOf = [...]Phase{population.PatienceOver: TimeOuts, population.RetryDue: Retries, population.ThoughtOver: Arrivals}

func (g *group) woke(now work.Instant, e *event) {
	t := population.Timer{Call: uint32(e.a >> 32), Gen: uint32(e.a), Kind: population.TimerKind(e.b)}
	if g.leaves != nil && t.Kind == population.PatienceOver {
		g.sim.station.Leave(g.leaves.over(t.Call, now), now)
	}
	g.Woke(now, t)
}

func (g *group) reply(now work.Instant, u work.Unit, r work.Result) {
	a := population.Attempt{
		Intended: u.Enqueued, Deadline: u.Deadline, Request: u.Request, Call: callOf(u.ID),
		Attempt: u.Attempt, Client: uint16(g.client), Class: u.Class,
	}
	if g.resumes != nil {
		a = g.resumes.ended(u, r)
	}
	g.Reply(now, a, r)
}

// arrive begins the request that is due and schedules the next.
func (g *group) arrive(now work.Instant) {
	n := g.arrived
	g.arrived++
	part := g.parts[n%uint64(len(g.parts))]
	part.Arrive(now, population.RequestID(uint16(g.client), n), g.sim.plan.ClassOf(g.client, n))
	g.scheduleArrival()
}

func (g *group) scheduleArrival() {
	if at, ok := g.schedule.Next(); ok {
		g.sim.at(at, Arrivals, happening(arrive, g.index, 0, 0))
	}
}
