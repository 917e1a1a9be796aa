// Package pace sleeps until an instant and not a millisecond longer.
//
// The Go runtime waits for timers in epoll, whose resolution is a millisecond:
// a send paced by time.Sleep leaves about half a millisecond late. A Thread
// sleeps in the kernel instead, with a nanosecond time-out and the smallest
// timer slack; a Timer is the ordinary kind, for systems without the former and
// for virtual time.
package pace

import "time"

// Sleeper puts one goroutine to sleep. Sleep belongs to that goroutine alone;
// Wake may be called from any.
type Sleeper interface {
	// Sleep returns after d, or earlier when Wake was called since the last
	// return, or for no reason at all: the caller looks at its clock again.
	Sleep(d time.Duration)
	// Wake ends the present sleep, or the next one before it begins.
	Wake()
}

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
