// Package bubble runs the real programs in a synctest bubble: real HTTP over
// connections in memory, in virtual time.
package bubble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Net is a network in memory. All waiting in it is on channels and conditions,
// which synctest understands, and it has the deadlines that net/http needs.
type Net struct {
	mu        sync.Mutex
	listeners map[string]*listener
	port      int
}

// NewNet returns a network without listeners.
func NewNet() *Net { return &Net{listeners: map[string]*listener{}, port: 40000} }

// Listen listens on an address of which only the text matters.
func (n *Net) Listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, fmt.Errorf("listen %s: %w", addr, syscall.EADDRINUSE)
	}
	l := &listener{net: n, addr: address(addr), accept: make(chan net.Conn, 1024), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l, nil
}

// Dial connects to a listener's address. It is a DialContext for net/http.
func (n *Net) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[addr]
	if l == nil {
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	}
	n.port++
	from := address("127.0.0.1:" + strconv.Itoa(n.port))
	there, back := newPipe(), newPipe()
	select {
	case l.accept <- &conn{in: there, out: back, local: l.addr, remote: from}:
		return &conn{in: back, out: there, local: from, remote: l.addr}, nil
	default:
		return nil, fmt.Errorf("dial %s: backlog full: %w", addr, syscall.ECONNREFUSED)
	}
}

// Host is a machine on the network. Its connections can be cut all at once, as
// when its power goes.
type Host struct {
	net *Net

	mu   sync.Mutex
	open []net.Conn
	dead bool
}

// Host returns a machine that is up.
func (n *Net) Host() *Host { return &Host{net: n} }

// Dial connects from the host. It is a DialContext for net/http.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ENETDOWN)
	}
	c, err := h.net.Dial(ctx, network, addr)
	if err == nil {
		h.open = append(h.open, c)
	}
	return c, err
}

// Cut ends the host's connections and lets it make no more.
func (h *Host) Cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dead = true
	for _, c := range h.open {
		_ = c.Close() // it cannot fail
	}
	h.open = nil
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

type listener struct {
	net    *Net
	addr   address
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Addr() net.Addr { return l.addr }

// Close stops listening and resets the connections that nobody accepted.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		delete(l.net.listeners, string(l.addr))
		close(l.closed)
		for {
			select {
			case c := <-l.accept:
				_ = c.Close()
			default:
				return
			}
		}
	})
	return nil
}

// window is how much a connection holds that was not read yet.
const window = 64 << 10

// pipe is one direction of a connection.
type pipe struct {
	mu          sync.Mutex
	changed     *sync.Cond
	data        []byte
	done        error // what a reader gets behind the data: io.EOF, or an abort
	gone        bool  // nobody reads any more
	read, write timeout
}

func newPipe() *pipe {
	p := &pipe{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// timeout is the deadline of one end of a pipe.
type timeout struct {
	at    time.Time
	timer *time.Timer
}

func (t *timeout) passed() bool { return !t.at.IsZero() && !time.Now().Before(t.at) }

// set moves the deadline; those who wait look again, now and when it has come.
func (p *pipe) set(t *timeout, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.at = at
	if d := time.Until(at); !at.IsZero() && d > 0 {
		t.timer = time.AfterFunc(d, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.changed.Broadcast()
		})
	}
	p.changed.Broadcast()
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.gone:
			return 0, net.ErrClosed
		case p.read.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p.data) > 0:
			n := copy(b, p.data)
			p.data = p.data[n:]
			p.changed.Broadcast()
			return n, nil
		case p.done != nil:
			return 0, p.done
		case len(b) == 0:
			return 0, nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	written := 0
	for {
		switch {
		case p.done != nil:
			return written, net.ErrClosed
		case p.gone:
			return written, syscall.EPIPE
		case p.write.passed():
			return written, os.ErrDeadlineExceeded
		case len(b) == written:
			return written, nil
		}
		if n := min(len(b)-written, window-len(p.data)); n > 0 {
			p.data = append(p.data, b[written:written+n]...)
			written += n
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}

// end closes the pipe at the writer's end, abandon at the reader's.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = err
	}
	p.changed.Broadcast()
}

func (p *pipe) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.data = true, nil
	p.changed.Broadcast()
}

type conn struct {
	in, out       *pipe
	local, remote address
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.Write(b) }

// Close ends both directions; the peer still reads what was written before.
func (c *conn) Close() error {
	c.out.end(io.EOF)
	c.in.abandon()
	return c.SetDeadline(time.Time{})
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.set(&c.in.read, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.set(&c.out.write, t)
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
