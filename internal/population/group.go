package population

import (
	"fmt"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// Group is a client group at work. Not safe for concurrent use.
type Group struct {
	spec   Spec
	id     Identity
	policy *retry.Policy
	host   Host
	record func(ledger.Event)
	slots  slab
	// round is how far apart a user's requests are numbered: at least the number of
	// users, and a whole number of parts, so that a user stays in its part.
	round  uint64
	closed bool
}

// New returns a group that reports to record.
func New(s Spec, id Identity, h Host, record func(ledger.Event)) (*Group, error) {
	p, err := s.policy()
	if err != nil {
		return nil, err
	}
	id.Parts = max(1, id.Parts)
	if id.Part >= id.Parts {
		return nil, fmt.Errorf("part %d of %d: allowed are 0 to %d", id.Part, id.Parts, id.Parts-1)
	}
	parts := uint64(id.Parts)
	round := (uint64(s.Users) + parts - 1) / parts * parts
	return &Group{spec: s, id: id, policy: p, host: h, record: record, slots: newSlab(), round: round}, nil
}

// Gauges returns what the group's gates have to show at now.
func (g *Group) Gauges(now work.Instant) retry.Gauges { return g.policy.Gauges(now) }

// Len returns the requests under way and the users that are thinking.
func (g *Group) Len() int { return g.slots.used }

// Start begins a closed loop: each user thinks, then makes a first request. It does
// nothing for an open loop.
func (g *Group) Start(now work.Instant) {
	for user := int(g.id.Part); user < g.spec.Users; user += int(g.id.Parts) {
		g.think(now, RequestID(g.id.Client, uint64(user)))
	}
}

// Arrive begins a request of an open loop, meant to begin at intended.
func (g *Group) Arrive(intended work.Instant, request uint64, class uint8) {
	if g.closed {
		return
	}
	i, s := g.slots.take()
	s.call, s.request, s.class = g.policy.Call(intended), request, class
	g.begin(i, s)
}

// think lets a user pause before a request.
func (g *Group) think(now work.Instant, request uint64) {
	i, s := g.slots.take()
	due := now.Add(g.spec.Think.Draw(g.id.Seed.For(draw.Key{Purpose: draw.Think, Client: g.id.Client, Request: request})))
	s.call, s.request, s.class = g.policy.Call(due), request, 0
	if g.id.ClassOf != nil {
		s.class = g.id.ClassOf(request)
	}
	g.wake(i, s, due, ThoughtOver)
}

func (g *Group) begin(i uint32, s *slot) {
	at := s.call.Began()
	g.record(ledger.Event{Kind: ledger.Wished, At: at, Unit: work.Unit{Request: s.request, Class: s.class}})
	g.step(i, s, at, retry.Input{Kind: retry.Begin})
}

// Sent tells that a left at the instant at.
func (g *Group) Sent(a Attempt, at work.Instant) {
	kind := ledger.Sent
	if a.Resume {
		kind = ledger.Resumed
	}
	g.record(ledger.Event{Kind: kind, At: at, Took: max(0, at.Sub(a.Intended)), Unit: a.unit()})
}

// Unsent tells that a never left, and why is nobody's answer: the request goes on
// as after an error.
func (g *Group) Unsent(a Attempt, now work.Instant) {
	g.record(ledger.Event{Kind: ledger.Missed, At: a.Intended, Unit: a.unit()})
	if s := g.current(a); s != nil {
		in := retry.Input{Kind: retry.Reply, Result: work.Result{Outcome: work.ClientError}}
		g.step(a.Call, s, min(now, s.call.Deadline()), in)
	}
}

// Woke tells that the instant of t is here.
func (g *Group) Woke(now work.Instant, t Timer) {
	s := g.slots.at(t.Call)
	if s == nil || s.gen != t.Gen {
		return
	}
	switch t.Kind {
	case ThoughtOver:
		g.begin(t.Call, s)
		return
	case PatienceOver:
		g.answered(s, now, work.Result{Outcome: work.TimedOut})
	}
	g.step(t.Call, s, now, retry.Input{Kind: retry.Woke})
}

// Reply tells that a was answered at now. An answer after patience is ignored.
func (g *Group) Reply(now work.Instant, a Attempt, r work.Result) {
	s := g.current(a)
	if s == nil || !s.call.Awaits(now, r) {
		return
	}
	g.answered(s, now, r)
	g.step(a.Call, s, now, retry.Input{Kind: retry.Reply, Result: r})
}

// Close ends all requests that are under way as unfinished. Later calls only
// record what they report.
func (g *Group) Close(now work.Instant) {
	g.closed = true
	for i := range uint32(g.slots.made) {
		s := g.slots.at(i)
		if s.taken {
			if s.call.Begun() {
				g.ended(s, now, ledger.EndUnfinished)
			}
			g.slots.free(i, s)
		}
	}
}

// current returns the slot of a's request if a is the try that it waits for.
func (g *Group) current(a Attempt) *slot {
	s := g.slots.at(a.Call)
	if s == nil || !s.taken || s.request != a.Request || !s.call.Open() ||
		s.call.Intended() != a.Intended || s.call.Attempts() != int(a.Attempt) {
		return nil
	}
	return s
}

// step lets the call decide and passes it on. What calls the host comes last, as
// the host may call back.
func (g *Group) step(i uint32, s *slot, now work.Instant, in retry.Input) {
	rnd := g.id.Seed.For(s.call.DrawKey(draw.Key{Client: g.id.Client, Request: s.request}))
	switch c := s.call.Step(now, in, rnd); c.Kind {
	case retry.Send:
		a := g.attempt(i, s, c)
		g.wake(i, s, c.At, PatienceOver)
		g.host.Send(a)
	case retry.Wait:
		g.wake(i, s, c.At, RetryDue)
	case retry.Stop:
		request := s.request
		g.ended(s, now, EndOf(c.Why, s.call.Tries()))
		g.slots.free(i, s)
		if g.spec.Users > 0 {
			g.think(now, request+g.round)
		}
	}
}

func (g *Group) attempt(i uint32, s *slot, c retry.Command) Attempt {
	return Attempt{
		Intended: s.call.Intended(), Deadline: c.At, Request: s.request, Call: i,
		Attempt: uint16(s.call.Attempts()), Client: g.id.Client, Class: s.class, Resume: c.Resume,
	}
}

func (g *Group) wake(i uint32, s *slot, at work.Instant, kind TimerKind) {
	s.gen++ // overtakes the timer before
	g.host.Wake(at, Timer{Call: i, Gen: s.gen, Kind: kind})
}

// EndOf returns how a request ended that stopped after so many tries.
func EndOf(why retry.Why, tries int) ledger.End {
	switch {
	case why == retry.Success:
		return ledger.EndSucceeded
	case why == retry.GateRefused && tries == 0:
		return ledger.EndThrottled
	case why == retry.GateRefused:
		return ledger.EndGaveUpGate
	default:
		return ledger.EndGaveUpAttempts
	}
}

func (g *Group) answered(s *slot, now work.Instant, r work.Result) {
	g.record(ledger.Event{
		Kind: ledger.Answered, At: now, Took: now.Sub(s.call.Intended()), Outcome: r.Outcome, Reason: r.Reason,
		Unit: work.Unit{Request: s.request, Deadline: s.call.Deadline(), Attempt: uint16(s.call.Attempts()), Class: s.class},
	})
}

func (g *Group) ended(s *slot, now work.Instant, end ledger.End) {
	began := s.call.Began()
	g.record(ledger.Event{
		Kind: ledger.Ended, At: now, Start: began, Took: now.Sub(began), End: end,
		Unit: work.Unit{Request: s.request, Attempt: uint16(s.call.Tries()), Class: s.class},
	})
}
