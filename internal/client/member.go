package client

import (
	"time"

	"shedload/internal/arrival"
	"shedload/internal/population"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// member is a Group at work: its populations, its arrivals and its carrier. All of
// it is under the generator's lock.
type member struct {
	g       *Generator
	spec    *Group
	client  uint16
	groups  []*population.Group // one for each process
	carrier carrier
	request requestForm
	grace   time.Duration // how long after its deadline an exchange may still end by itself

	schedule *arrival.Schedule // nil for a closed loop
	phases   []arrival.Phase   // that concern it
	before   arrival.Schedule  // as it was before it handed out next
	next     work.Instant      // of the schedule; Never when it has ended
	arrived  uint64            // arrivals so far
}

// process is the host of one of a member's populations.
type process struct {
	m     *member
	group *population.Group
}

func (g *Generator) newMember(client uint16) (*member, error) {
	spec := &g.config.Groups[client]
	m := &member{g: g, spec: spec, client: client, next: work.Never, request: g.requestForm(spec)}
	if spec.Wait == scenario.WaitPost || spec.Wait == scenario.WaitPoll {
		m.grace = Grace
	}
	for part := range spec.Processes {
		p := &process{m: m}
		id := population.Identity{
			Client: client, Part: uint16(part), Parts: uint16(spec.Processes), Seed: g.config.Seed, ClassOf: spec.ClassOf,
		}
		var err error
		if p.group, err = population.New(spec.Population, id, p, g.config.Record); err != nil {
			return nil, err
		}
		m.groups = append(m.groups, p.group)
	}
	if spec.Population.Users > 0 {
		return m, nil
	}
	m.phases = arrival.PhasesOf(g.config.Phases, spec.Population.Name)
	var err error
	if m.schedule, err = arrival.New(spec.Arrivals, m.phases, g.config.Seed, client); err != nil {
		return nil, err
	}
	m.advance()
	return m, nil
}

// advance looks up the next arrival of an open loop.
func (m *member) advance() {
	m.before, m.next = *m.schedule, work.Never
	if at, ok := m.schedule.Next(); ok {
		m.next = at
	}
}

// alter changes the schedule from now on, the arrival that is next included.
func (m *member) alter(change func(*arrival.Schedule) error) error {
	*m.schedule = m.before
	err := change(m.schedule)
	m.advance()
	return err
}

// arrive begins the request that is due.
func (m *member) arrive() {
	intended, k := m.next, m.arrived
	m.arrived++
	m.advance()
	request := population.RequestID(m.client, k)
	var class uint8
	if m.spec.ClassOf != nil {
		class = m.spec.ClassOf(request)
	}
	m.groups[k%uint64(len(m.groups))].Arrive(intended, request, class)
}

// Send implements population.Host.
func (p *process) Send(a population.Attempt) {
	p.m.g.outbox = append(p.m.g.outbox, shot{p.m, p.group, a})
}

// Wake implements population.Host.
func (p *process) Wake(at work.Instant, t population.Timer) {
	p.m.g.timers.push(timer{at: at, member: p.m, group: p.group, own: t})
	p.m.g.rouse(at)
}

// sent reports that s leaves now.
func (s shot) sent(now work.Instant) {
	s.member.g.counts.exchanges++
	s.group.Sent(s.attempt, now)
}

// tooLate gives s up if less time is left than can be told to a server, and reports
// whether it did.
func (s shot) tooLate(now work.Instant) bool {
	if s.attempt.Deadline.Sub(now) >= minLeft {
		return false
	}
	s.unsent(kindTooLate)
	return true
}

// unsent reports that s never left, and why.
func (s shot) unsent(why errorKind) {
	g := s.member.g
	if !g.over {
		g.counts.errors[why]++
	}
	s.group.Unsent(s.attempt, g.now())
}

// answered reports what came of s, which was sent.
func (s shot) answered(a answer) {
	g := s.member.g
	g.counts.exchanges--
	now := g.now()
	if g.over {
		return
	}
	if now > s.attempt.Deadline {
		g.counts.lateAnswers++
		return // the client's own timer has decided, or is about to
	}
	result, pending := a.meaning(s.member.spec.Wait)
	if pending {
		return
	}
	if result.Outcome == work.ClientError {
		g.counts.errors[kindBadStatus]++
	}
	s.group.Reply(now, s.attempt, result)
}

// broke reports that the exchange of s broke.
func (s shot) broke(err error) {
	g := s.member.g
	g.counts.exchanges--
	now := g.now()
	if g.over || now > s.attempt.Deadline {
		return
	}
	g.counts.errors[kindOf(err)]++
	s.group.Reply(now, s.attempt, work.Result{Outcome: work.ClientError})
}

// cutOff reports that the client broke off the exchange of s, after its deadline.
func (s shot) cutOff() {
	s.member.g.counts.exchanges--
	s.member.g.counts.cut++
}
