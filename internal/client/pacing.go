package client

import (
	"io"
	"math"
	"time"

	"shedload/internal/population"
	"shedload/internal/work"
)

// stop ends the run as soon as the pacing thread sees it.
func (g *Generator) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopping = true
	g.rouse(awake)
}

// rouse wakes the pacing thread if it sleeps past t.
func (g *Generator) rouse(t work.Instant) {
	if t < g.sleeping && g.sleeper != nil {
		g.sleeping = t
		g.sleeper.Wake()
	}
}

const (
	awake        = work.Instant(math.MinInt64)
	longestSleep = time.Hour // with nothing to wait for
)

// pollEvery is the longest that sockets are not looked at while sends are due one
// after the other.
const pollEvery = 200 * time.Microsecond

// pace is the pacing thread: it does what is due, in order, and sleeps in between.
func (g *Generator) pace() {
	g.mu.Lock()
	defer g.mu.Unlock()
	horizon, polled := g.horizon(), work.Instant(0)
	for done := false; !done && !g.stopping; {
		g.prune()
		m, arrival := g.nextArrival()
		next, now := min(arrival, g.timers.next(), horizon), g.now()
		switch {
		case next > now, g.watches() && now.Sub(polled) > pollEvery:
			g.sleep(next, now)
			polled = g.now()
		case next == horizon:
			done = true
		case next == arrival && next < g.timers.next():
			m.arrive()
		default:
			g.fire(g.timers.pop(), now)
		}
		g.flush()
	}
	g.finish(min(g.now(), horizon))
}

// arrival has one leave that is due before anything else is.
func (g *Generator) arrival() {
	if m, at := g.nextArrival(); at <= g.now() && at < min(g.timers.next(), g.horizon()) {
		m.arrive()
		g.flush()
	}
}

// horizon is the end of the run.
func (g *Generator) horizon() work.Instant {
	if g.config.Horizon > 0 {
		return work.Instant(g.config.Horizon)
	}
	return work.Never
}

// watches reports whether the pacing thread reads the answers.
func (g *Generator) watches() bool { return g.pool != nil && g.pool.watcher != nil }

// sleep lets go of the lock and sleeps until next; then it takes in what came in
// on the sockets that are watched, before anything that is due but arrivals: they do
// not depend on answers, and a send must not wait for a batch of them.
func (g *Generator) sleep(next, now work.Instant) {
	g.sleeping = next
	g.mu.Unlock()
	g.sleeper.Sleep(min(next.Sub(now), longestSleep))
	g.mu.Lock()
	g.sleeping = awake
	if !g.watches() {
		return
	}
	for _, id := range g.pool.watcher.Ready() {
		g.arrival()
		if c := g.pool.all[id]; c != nil { // it may have been closed since
			c.readable()
		}
	}
}

// prune forgets ends of grace that nobody waits for any more, as is the rule with
// them, so that the pacing thread does not wake up for each.
func (g *Generator) prune() {
	for len(g.timers) > 0 {
		if t := g.timers[0]; t.cut == nil || t.cut.busyWith(t.turn) {
			return
		}
		g.timers.pop()
	}
}

func (g *Generator) nextArrival() (m *member, at work.Instant) {
	at = work.Never
	for _, c := range g.members {
		if c.next < at {
			m, at = c, c.next
		}
	}
	return m, at
}

func (g *Generator) fire(t timer, now work.Instant) {
	if t.cut != nil {
		t.cut.cutOff(t.turn)
		return
	}
	if t.own.Kind == population.PatienceOver {
		t.member.carrier.expire(t.at) // before the client moves on
	}
	t.group.Woke(now, t.own)
}

// flush has the attempts leave that groups asked for: one as a rule, so that their
// order does not matter. Several goroutines may do so at a time, as the lock is let
// go for each write.
func (g *Generator) flush() {
	for len(g.outbox) > 0 {
		last := len(g.outbox) - 1
		s := g.outbox[last]
		g.outbox = g.outbox[:last]
		if g.over {
			s.unsent(kindNoConnection)
			continue
		}
		s.member.carrier.launch(s)
	}
}

// finish ends what is under way at the end of the run. The connections are closed
// by then, so that their goroutines end.
func (g *Generator) finish(now work.Instant) {
	g.over = true
	g.counts.atEnd = g.counts.exchanges
	for _, m := range g.members {
		for _, group := range m.groups {
			group.Close(now)
		}
		m.carrier.expire(work.Never)
	}
	g.flush()
	if g.pool != nil {
		g.pool.closeAll()
	}
	if c, ok := g.sleeper.(io.Closer); ok {
		_ = c.Close()
	}
	g.sleeper = nil
}
