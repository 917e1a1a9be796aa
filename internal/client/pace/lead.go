package pace

import "time"

// lead is how much earlier than wanted a sleep should end by the kernel's timer, as the
// thread goes on only some time after it. It follows the twentieth part of these delays
// that is shortest: so one sleep in twenty ends before its time, by microseconds, and the
// others are late only by what their delay is longer.
type lead time.Duration

const (
	leadMost = lead(100 * time.Microsecond) // more is a busy machine, not the way of the timer
	leadUp   = lead(200 * time.Nanosecond)
	leadDown = 19 * leadUp
)

func (l lead) time() time.Duration { return time.Duration(l) }

// learn takes in by how much the thread went on after the timer.
func (l *lead) learn(delay time.Duration) {
	if lead(delay) > *l {
		*l = min(*l+leadUp, leadMost)
	} else {
		*l = max(*l-leadDown, 0)
	}
}
