package client

import (
	"context"
	"fmt"
	"math"
	"net"
	"time"

	"shedload/internal/client/pace"
)

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
	g := &Generator{config: c, target: target, sleeping: awake}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	for i := range c.Groups {
		m, err := g.newMember(uint16(i))
		if err != nil {
			return nil, fmt.Errorf("client %q: %w", c.Groups[i].Population.Name, err)
		}
		g.members = append(g.members, m)
	}
	g.carriers()
	if need, have := g.conns(math.MaxInt64), g.limit; g.pool != nil && need > have {
		return nil, fmt.Errorf("connections: needs %d (new requests of one patience, and a reserve), have %d", need, have)
	}
	if !c.VirtualTime {
		if g.sleeper, err = pace.New(); err != nil {
			return nil, err
		}
	}
	if g.pool != nil && g.largest() <= largeRequest {
		g.pool.watcher, _ = g.sleeper.(pace.Watcher)
	}
	return g, nil
}

// largest returns the length of the longest raw request.
func (g *Generator) largest() int {
	n := 0
	for _, m := range g.members {
		n = max(n, m.request.longest())
	}
	return n
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
		err = g.pool.warm(ctx, c, g.first())
	}
	if err != nil {
		return fmt.Errorf("target %s cannot be reached: %w", g.config.Target, err)
	}
	return nil
}

// first is how many connections a second without answers takes.
func (g *Generator) first() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conns(time.Second)
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
