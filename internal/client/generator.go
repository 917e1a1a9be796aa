package client

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/url"
	"sync"
	"time"

	"shedload/internal/client/pace"
	"shedload/internal/population"
	"shedload/internal/work"
)

// Generator plays groups of clients against one target. Several generators with
// equal groups, seed and start send the same arrivals to several targets.
type Generator struct {
	config Config
	target *url.URL
	pool   *pool // raw connections; nil when no group uses them
	ctx    context.Context
	cancel context.CancelFunc
	limit  int            // connections of each carrier
	wg     sync.WaitGroup // of every goroutine that was started

	// mu guards all that follows, and all of members, carriers and connections.
	// It is let go only while a request is written.
	mu       sync.Mutex
	start    time.Time
	members  []*member
	timers   heap[timer]
	outbox   []shot // attempts that have yet to leave
	sleeper  pace.Sleeper
	sleeping work.Instant // what the pacing thread sleeps to; awake while it is not
	stopping bool
	over     bool // nothing counts any more
	counts   counts
}

// shot is an attempt on its way out.
type shot struct {
	member  *member
	group   *population.Group
	attempt population.Attempt
}

// carrier takes attempts to the server. Both methods run under the generator's
// lock and do not block, but launch may let go of the lock while it writes.
type carrier interface {
	// launch has s leave as soon as it can, and reports to s.group that it did, or that it cannot.
	launch(s shot)
	// expire gives up what has not left by its deadline, when that is at or before t.
	expire(t work.Instant)
}

// timer is something that is due at an instant: a group's own timer or, with a
// cut, the end of the grace in which a late answer may still come. Timers are not
// removed early, as what is stale when it is due does no harm; there are never
// more than were set within the longest patience or pause.
type timer struct {
	at     work.Instant
	member *member
	group  *population.Group
	own    population.Timer
	cut    *conn
	turn   uint32 // the exchange of cut that is meant
}

func (t timer) when() work.Instant { return t.at }

// New returns a generator. The error says what about c cannot be.
func New(c Config) (*Generator, error) {
	c.Groups = append([]Group(nil), c.Groups...)
	for i := range c.Groups {
		c.Groups[i].defaults()
	}
	target, err := c.check()
	if err != nil {
		return nil, err
	}
	g := &Generator{config: c, target: target}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	for i := range c.Groups {
		m, err := g.newMember(uint16(i))
		if err != nil {
			return nil, fmt.Errorf("client %q: %w", c.Groups[i].Population.Name, err)
		}
		g.members = append(g.members, m)
	}
	g.carriers()
	if need, have := g.conns(), g.limit; g.pool != nil && need > have {
		return nil, fmt.Errorf("connections: needs %d (new requests of one patience, and a reserve), have %d", need, have)
	}
	return g, nil
}

// carriers gives each member its carrier; they share the connections that are allowed.
func (g *Generator) carriers() {
	carriers := 0
	for _, m := range g.members {
		if !m.spec.raw(g.target) {
			carriers++
		} else if g.pool == nil {
			g.pool = newPool(g)
			carriers++
		}
	}
	g.limit = max(1, g.config.MaxConns/carriers)
	for _, m := range g.members {
		if m.spec.raw(g.target) {
			m.carrier = g.pool
		} else {
			m.carrier = newTripper(m, g.limit)
		}
	}
	if g.pool != nil {
		g.pool.limit, g.pool.reserve = g.limit, g.reserve()
	}
}

// Prepare opens the connections that the load will need at first, so that no send
// waits for them. The error says that, and why, the target cannot be reached.
func (g *Generator) Prepare(ctx context.Context) error {
	c, err := g.connect(ctx)
	if err == nil && g.pool == nil {
		return c.Close()
	}
	if err == nil {
		err = g.pool.warm(ctx, c, g.Conns())
	}
	if err != nil {
		return fmt.Errorf("target %s cannot be reached: %w", g.config.Target, err)
	}
	return nil
}

// connect opens a connection to the target.
func (g *Generator) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	port := g.target.Port()
	if port == "" {
		port = g.target.Scheme // a service name that every system knows
	}
	return g.config.Dial(ctx, "tcp", net.JoinHostPort(g.target.Hostname(), port))
}

// Run plays the load from start, which is instant 0 and may be in the future, until
// the horizon or the end of ctx, whose cause it then returns. It returns when all
// its connections are closed and its goroutines have ended. A Generator runs once.
func (g *Generator) Run(ctx context.Context, start time.Time) error {
	g.mu.Lock()
	g.start = start
	for _, m := range g.members {
		for _, group := range m.groups {
			group.Start(0)
		}
	}
	g.mu.Unlock()
	defer g.wg.Wait()
	defer g.cancel()
	defer context.AfterFunc(ctx, g.stop)()
	if g.config.VirtualTime {
		g.pace(pace.NewTimer())
	} else if err := pace.Run(g.pace); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.config.Horizon > 0 && g.now() >= work.Instant(g.config.Horizon) {
		return nil
	}
	return context.Cause(ctx)
}

// Close lets go of what Prepare opened, if Run was not called.
func (g *Generator) Close() {
	g.mu.Lock()
	g.stopping = true
	g.finish(0)
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
}

// Do calls f under the generator's lock, under which Config.Record is called as
// well, with the present instant.
func (g *Generator) Do(f func(now work.Instant)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g.now())
}

func (g *Generator) now() work.Instant {
	if g.start.IsZero() {
		return 0
	}
	return work.Instant(time.Since(g.start))
}

// stop ends the run as soon as the pacing thread sees it.
func (g *Generator) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopping = true
	g.rouse(awake)
}

// rouse wakes the pacing thread if it sleeps past t.
func (g *Generator) rouse(t work.Instant) {
	if g.sleeper != nil && t < g.sleeping {
		g.sleeping = t
		g.sleeper.Wake()
	}
}

const (
	awake        = work.Instant(math.MinInt64)
	longestSleep = time.Hour // with nothing to wait for
)

// pace is the pacing thread: it does what is due, in order, and sleeps in between.
func (g *Generator) pace(s pace.Sleeper) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sleeper, g.sleeping = s, awake
	horizon := work.Never
	if g.config.Horizon > 0 {
		horizon = work.Instant(g.config.Horizon)
	}
	for done := false; !done && !g.stopping; {
		g.prune()
		m, arrival := g.nextArrival()
		next, now := min(arrival, g.timers.next(), horizon), g.now()
		switch {
		case next > now:
			g.sleeping = next
			g.mu.Unlock()
			s.Sleep(min(next.Sub(now), longestSleep))
			g.mu.Lock()
			g.sleeping = awake
		case next == horizon:
			done = true
		case next == arrival && next < g.timers.next():
			m.arrive()
		default:
			g.fire(g.timers.pop(), now)
		}
		g.flush()
	}
	g.sleeper = nil // it does not outlive this function
	g.finish(min(g.now(), horizon))
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
}
