package worker

import "time"

// timer is the Sleeper for systems without a better one, and for virtual time.
type timer struct {
	timer *time.Timer
	wake  chan struct{}
}

func newTimer() *timer {
	t := &timer{timer: time.NewTimer(time.Hour), wake: make(chan struct{}, 1)}
	t.timer.Stop()
	return t
}

// Sleep implements Sleeper.
func (t *timer) Sleep(d time.Duration) {
	t.timer.Reset(d)
	select {
	case <-t.timer.C:
	case <-t.wake:
		t.timer.Stop()
	}
}

// Wake implements Sleeper.
func (t *timer) Wake() {
	select {
	case t.wake <- struct{}{}:
	default: // one is pending already
	}
}
