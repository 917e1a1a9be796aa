package client

import (
	"errors"
	"io"
	"net"
	"time"

	"shedload/internal/client/pace"
	"shedload/internal/client/wire"
	"shedload/internal/work"
)

// conn is a raw connection. Whoever has an attempt leave writes the request. The
// answers are read by the pacing thread if it watches the connection, and by a
// goroutine of its own if not. It is under the generator's lock.
type conn struct {
	pool    *pool
	id      uint32
	net     io.ReadWriteCloser
	watched bool
	in      *wire.Reader // of the goroutine, if there is one, and not under the lock
	out     []byte

	shot    shot
	turn    uint32    // counts the exchanges
	since   time.Time // when it became idle
	state   connState
	writing bool // out is in use, without the lock
	early   bool // the answer came while writing: the end of the write frees the connection
}

type connState uint8

const (
	connIdle connState = iota
	connBusy
	connClosed
)

var errUnsolicited = errors.New("an answer that nobody asked for")

// add takes in a new connection, for whatever is to be sent next.
func (p *pool) add(nc net.Conn) error {
	if p.g.over {
		return nc.Close()
	}
	c := &conn{pool: p, id: p.added, net: nc}
	p.added++
	if p.watcher != nil {
		switch watched, err := p.watcher.Watch(nc, c.id); {
		case err == nil:
			c.net, c.watched = watched, true
		case err != pace.ErrNotWatched:
			return err
		}
	}
	p.all[c.id], c.in = c, wire.NewReader(c.net)
	if !c.watched {
		p.g.wg.Go(c.read)
	}
	p.free(c)
	return nil
}

// largeRequest bounds what the pacing thread writes itself: so much always fits
// into the empty buffer of a socket.
const largeRequest = 8 << 10

// begin has s leave on the idle connection, for which it is not too late.
func (c *conn) begin(s shot, now work.Instant) {
	g := c.pool.g
	c.state, c.shot, c.turn, c.writing = connBusy, s, c.turn+1, true
	end := s.attempt.Deadline.Add(s.member.grace)
	g.timers.push(timer{at: end, cut: c, turn: c.turn})
	g.rouse(end)
	c.out = s.member.request.append(c.out[:0], s.attempt, s.attempt.Deadline.Sub(now))
	s.sent(now)
	if len(c.out) > largeRequest {
		g.wg.Go(func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			c.write()
			g.flush()
		})
		return
	}
	c.write()
}

// write writes the request. It lets go of the lock meanwhile, unless the
// connection is one that does not block.
func (c *conn) write() {
	var err error
	if c.watched {
		_, err = c.net.Write(c.out)
	} else {
		c.pool.g.mu.Unlock()
		_, err = c.net.Write(c.out)
		c.pool.g.mu.Lock()
	}
	c.writing = false
	switch {
	case c.state == connClosed:
	case err != nil:
		c.broke(err)
	case c.early:
		c.early = false
		c.pool.free(c)
	}
}

// read is the connection's goroutine.
func (c *conn) read() {
	for open := true; open; {
		var reply wire.Reply
		err := c.in.Next(&reply)
		c.pool.g.mu.Lock()
		open = c.took(&reply, err)
		c.pool.g.mu.Unlock()
	}
}

// readable reads what there is on a connection that is watched.
func (c *conn) readable() {
	for more := true; more; {
		var reply wire.Reply
		err := c.in.Next(&reply)
		if err == wire.ErrNotReady {
			return
		}
		more = c.took(&reply, err) && c.in.Buffered()
	}
}

// took takes in an answer, or the end of the connection, and reports whether the
// connection is still open.
func (c *conn) took(reply *wire.Reply, err error) bool {
	g := c.pool.g
	switch {
	case c.state == connClosed:
		return false
	case err == nil && c.state == connIdle:
		err = errUnsolicited
	}
	if err != nil {
		c.broke(err)
		g.flush()
		return false
	}
	s := c.shot
	c.shot, c.state = shot{}, connIdle
	s.answered(answer{reply.Status, string(reply.RetryAfter), reply.DoNotRetry, reply.Body})
	switch {
	case reply.Close || c.in.Buffered():
		c.close()
	case c.writing:
		c.early = true
	default:
		c.pool.free(c)
	}
	g.flush()
	return c.state != connClosed
}

// busyWith reports whether the exchange of that turn is under way.
func (c *conn) busyWith(turn uint32) bool { return c.state == connBusy && c.turn == turn }

// cutOff ends the exchange of that turn if it is still under way.
func (c *conn) cutOff(turn uint32) {
	if !c.busyWith(turn) {
		return
	}
	c.shot.cutOff()
	c.close()
}

// broke ends the connection, and the exchange on it, because of err.
func (c *conn) broke(err error) {
	busy, s := c.state == connBusy, c.shot
	c.close()
	if busy {
		s.broke(err)
	}
}

func (c *conn) close() {
	if c.state == connClosed {
		return
	}
	c.state, c.shot = connClosed, shot{}
	c.pool.forget(c)
	_ = c.net.Close() // nothing is left to lose on it
	if c.turn > 0 {   // it was of use
		c.pool.refill(1)
	}
}
