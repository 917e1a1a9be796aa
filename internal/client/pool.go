package client

import (
	"cmp"
	"context"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"shedload/internal/client/pace"
	"shedload/internal/work"
)

// pool is a carrier: raw HTTP/1.1 connections to the target. The one that came
// free last is used first, but none that was idle for longer than maxIdle. Some are
// kept open in reserve, so that a send does not wait for a dial; dials are few at a
// time, as a storm of them is what breaks at many thousand connections. All of it is
// under the generator's lock.
type pool struct {
	g       *Generator
	idle    []*conn          // in the order in which they became idle
	worn    []*conn          // idle for too long, to be closed
	all     map[uint32]*conn // by id
	added   uint32           // connections so far
	watcher pace.Watcher     // reads for all connections; nil: each has a goroutine
	waiting []shot           // sends that found no idle connection, by deadline
	dialing int              // dials under way
	allowed int              // dials that may follow
	reserve int              // idle connections that are kept
	limit   int              // open connections at most
}

func newPool(g *Generator) *pool { return &pool{g: g, all: map[uint32]*conn{}} }

// launch implements carrier.
func (p *pool) launch(s shot) {
	p.retire()
	now := p.g.now()
	if s.tooLate(now) {
		return
	}
	if c := p.take(); c != nil {
		c.begin(s, now)
	} else {
		at, _ := slices.BinarySearchFunc(p.waiting, s.attempt.Deadline+1, byDeadline)
		p.waiting = slices.Insert(p.waiting, at, s)
	}
	p.refill(2) // one for the connection that s takes, one to make up for losses
}

// mostClosed is how many connections are closed before a send: it must not wait for many.
const mostClosed = 8

// retire puts aside what was idle for too long, and closes some of it.
func (p *pool) retire() {
	oldest := time.Now().Add(-maxIdle)
	n, _ := slices.BinarySearchFunc(p.idle, oldest, func(c *conn, t time.Time) int { return c.since.Compare(t) })
	p.worn = append(p.worn, p.idle[:n]...)
	p.idle = slices.Delete(p.idle, 0, n)
	for range min(mostClosed, len(p.worn)) {
		p.worn[len(p.worn)-1].close()
	}
}

// take returns an idle connection, if there is one: the newest, or the oldest once half
// of its time is over, so that it stays of use.
func (p *pool) take() *conn {
	if len(p.idle) == 0 {
		return nil
	}
	at := len(p.idle) - 1
	if time.Since(p.idle[0].since) > maxIdle/2 {
		at = 0
	}
	c := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	return c
}

func byDeadline(s shot, t work.Instant) int { return cmp.Compare(s.attempt.Deadline, t) }

// expire implements carrier.
func (p *pool) expire(t work.Instant) {
	n := 0
	for n < len(p.waiting) && p.waiting[n].attempt.Deadline <= t {
		p.waiting[n].unsent(kindNoConnection)
		n++
	}
	p.waiting = slices.Delete(p.waiting, 0, n)
}

// next takes the waiting send that has the most time left. The one that has the
// least would soon be the only kind to leave, too late to be answered.
func (p *pool) next() shot {
	last := len(p.waiting) - 1
	s := p.waiting[last]
	p.waiting = slices.Delete(p.waiting, last, last+1)
	return s
}

// free takes back a connection that can carry another exchange.
func (p *pool) free(c *conn) {
	now := p.g.now()
	for len(p.waiting) > 0 {
		if s := p.next(); !s.tooLate(now) {
			c.begin(s, now)
			return
		}
	}
	c.since = time.Now()
	p.idle = append(p.idle, c)
}

// forget drops a connection that was closed.
func (p *pool) forget(c *conn) {
	delete(p.all, c.id)
	for _, list := range []*[]*conn{&p.idle, &p.worn} {
		if i := slices.Index(*list, c); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
	}
}

// short is how many connections should be dialled now.
func (p *pool) short() int {
	if p.g.over {
		return 0
	}
	return max(0, min(p.reserve+len(p.waiting)-len(p.idle), p.limit-len(p.all))-p.dialing)
}

// refill dials if connections are short, but no more than most: a server that hangs
// up on every connection must not make the generator dial for ever.
func (p *pool) refill(most int) {
	p.allowed = min(p.allowed+most, p.short())
	for p.dialing < maxDialers && p.allowed > 0 {
		p.allowed--
		p.dialing++
		p.g.wg.Go(p.dial)
	}
}

// dial opens connections for as long as more are wanted and allowed. It is a goroutine.
func (p *pool) dial() {
	for more := true; more; {
		nc, err := p.g.connect(p.g.ctx)
		p.g.mu.Lock()
		more = p.dialled(nc, err)
		p.g.flush()
		p.g.mu.Unlock()
	}
}

// dialled takes in the end of a dial and reports whether its goroutine goes on.
func (p *pool) dialled(nc net.Conn, err error) bool {
	p.dialing--
	if err == nil {
		err = p.add(nc)
	}
	switch {
	case err == nil:
	case len(p.waiting) > 0:
		p.next().unsent(dialKind(err))
	}
	if p.allowed == 0 || p.short() == 0 {
		return false
	}
	p.allowed--
	p.dialing++
	return true
}

// warm opens connections until n are idle, first among them.
func (p *pool) warm(ctx context.Context, first net.Conn, n int) error {
	var group errgroup.Group
	group.SetLimit(maxDialers)
	add := func(nc net.Conn, err error) error {
		if err != nil {
			return err
		}
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		return p.add(nc)
	}
	group.Go(func() error { return add(first, nil) })
	for range n - 1 {
		group.Go(func() error { return add(p.g.connect(ctx)) })
	}
	return group.Wait()
}

// closeAll ends all connections, and so their goroutines.
func (p *pool) closeAll() {
	p.idle, p.worn = nil, nil // no need to look each up
	for _, c := range p.all {
		c.close()
	}
}
