package client

import (
	"context"
	"errors"
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
	// It is let go for sleep, and for writing to a connection that may block.
	mu       sync.Mutex
	start    time.Time
	members  []*member
	timers   heap[timer]
	outbox   []shot       // attempts that have yet to leave
	sleeper  pace.Sleeper // nil after the run, and in virtual time before it
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

// Run plays the load from start, which is instant 0 and may be in the future, until
// the horizon or the end of ctx, whose cause it then returns. It returns when all
// its connections are closed and its goroutines have ended. A Generator runs once.
func (g *Generator) Run(ctx context.Context, start time.Time) error {
	g.mu.Lock()
	if g.over || !g.start.IsZero() {
		g.mu.Unlock()
		return errors.New("the generator has run already, or is closed")
	}
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
		g.sleeper = pace.NewTimer()
		g.pace()
	} else {
		pace.Run(g.sleeper, g.pace)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.config.Horizon > 0 && g.now() >= work.Instant(g.config.Horizon) {
		return nil
	}
	return context.Cause(ctx)
}

// Close lets go of everything if Run was not called.
func (g *Generator) Close() {
	g.mu.Lock()
	if !g.over {
		g.finish(0)
	}
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
