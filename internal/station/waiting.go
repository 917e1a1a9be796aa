package station

import (
	"shedload/internal/admit"
	"shedload/internal/work"
)

// waiter is a unit at the door with the verdict that lets it wait: until when,
// and why it is refused then.
type waiter struct {
	unit    work.Unit
	verdict admit.Verdict
}

// waitingList holds those who wait at the door, in arrival order. It is short:
// waits there are bounded far below a client's patience.
type waitingList struct {
	list     []waiter
	earliest work.Instant // not later than the first end of a wait; exact after expired
}

func (w *waitingList) push(x waiter) {
	if len(w.list) == 0 || x.verdict.WaitUntil < w.earliest {
		w.earliest = x.verdict.WaitUntil
	}
	w.list = append(w.list, x)
}

func (w *waitingList) next() work.Instant {
	if len(w.list) == 0 {
		return work.Never
	}
	return w.earliest
}

// expired takes off the first whose wait is over.
func (w *waitingList) expired(now work.Instant) (waiter, bool) {
	if now < w.next() {
		return waiter{}, false
	}
	w.earliest = work.Never
	for i, x := range w.list {
		if x.verdict.WaitUntil <= now {
			w.removeAt(i)
			w.earliest = now // more may be due
			return x, true
		}
		w.earliest = min(w.earliest, x.verdict.WaitUntil)
	}
	return waiter{}, false
}

func (w *waitingList) remove(id uint64) (work.Unit, bool) {
	for i, x := range w.list {
		if x.unit.ID == id {
			w.removeAt(i)
			return x.unit, true
		}
	}
	return work.Unit{}, false
}

func (w *waitingList) pop() (work.Unit, bool) {
	if len(w.list) == 0 {
		return work.Unit{}, false
	}
	u := w.list[0].unit
	w.removeAt(0)
	return u, true
}

func (w *waitingList) removeAt(i int) { w.list = append(w.list[:i], w.list[i+1:]...) }

// filter keeps those for which keep says so.
func (w *waitingList) filter(keep func(work.Unit) bool) {
	kept := w.list[:0]
	for _, x := range w.list {
		if keep(x.unit) {
			kept = append(kept, x)
		}
	}
	w.list = kept
}
