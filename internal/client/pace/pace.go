// Package pace sleeps until an instant and not a millisecond longer.
//
// The Go runtime waits for timers in epoll, whose resolution is a millisecond:
// a send paced by time.Sleep leaves about half a millisecond late. On Linux a
// sleeper waits in the kernel itself, with a nanosecond time-out and the smallest
// timer slack, and can watch sockets meanwhile, so that one thread waits for all
// there is to wait for. A Timer is the ordinary kind, for other systems and for
// virtual time.
package pace

import (
	"errors"
	"io"
	"net"
	"time"
)

// Sleeper puts one goroutine to sleep. Sleep belongs to that goroutine alone;
// Wake may be called from any, until the Sleeper is closed.
type Sleeper interface {
	// Sleep returns after d, or earlier when Wake was called since the last
	// return, or for no reason at all: the caller looks at its clock again.
	Sleep(d time.Duration)
	// Wake ends the present sleep, or the next one before it begins.
	Wake()
}

// Watcher is a Sleeper whose sleep also ends when a socket that it watches can be
// read. It is an io.Closer.
type Watcher interface {
	Sleeper
	// Watch takes a connection over from net and returns it as one that does not
	// block: its Read returns ErrNotReady instead, its Write writes at once or
	// fails. Watch may be called from any goroutine; a connection that is watched
	// must not be used by several at a time. If it returns ErrNotWatched, nc is as
	// it was; after any other error it is closed.
	Watch(nc net.Conn, id uint32) (io.ReadWriteCloser, error)
	// Ready returns the ids of sockets that could be read when the last Sleep
	// ended, some perhaps closed since. It belongs to the sleeping goroutine.
	Ready() []uint32
}

// ErrNotWatched is what Watch returns for a connection that is no socket.
var ErrNotWatched = errors.New("not a socket")

// Timer is a Sleeper on an ordinary timer.
type Timer struct {
	timer *time.Timer
	wake  chan struct{}
}

// NewTimer returns a Timer for the calling goroutine (or bubble).
func NewTimer() *Timer {
	t := &Timer{timer: time.NewTimer(0), wake: make(chan struct{}, 1)}
	<-t.timer.C
	return t
}

// Sleep implements Sleeper.
func (t *Timer) Sleep(d time.Duration) {
	t.timer.Reset(d)
	select {
	case <-t.timer.C:
	case <-t.wake:
		t.timer.Stop()
	}
}

// Wake implements Sleeper.
func (t *Timer) Wake() {
	select {
	case t.wake <- struct{}{}:
	default: // one is pending already
	}
}
