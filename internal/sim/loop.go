package sim

import "shedload/internal/work"

// Phase orders the events of one instant. Another order would change published
// numbers: an answer at the deadline is on time because completions come before
// time-outs, and an arrival at a completion finds the place free.
type Phase uint8

// The phases of an instant, in their order.
const (
	Completions Phase = iota
	Ticks             // waits at the door and leases that run out
	TimeOuts
	Retries
	Arrivals
	Dispatch
	Samples
)

// event is a small value: what happens is told by its kind, to whom by a and b.
type event struct {
	at    work.Instant
	order uint64 // phase in the upper 8 bits, sequence number below
	a, b  uint64
	group uint32
	kind  kind
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// Loop holds the events to come, ordered by (time, phase, sequence), so that a
// run is the same every time. It is a 4-ary heap: shallower than a binary one,
// and the four children share a cache line or two.
type Loop struct {
	heap     []event
	sequence uint64
}

const arity = 4

// at schedules e for the instant t.
func (l *Loop) at(t work.Instant, p Phase, e event) {
	l.sequence++
	e.at, e.order = t, uint64(p)<<56|l.sequence
	l.heap = append(l.heap, e)
	h, i := l.heap, len(l.heap)-1
	for i > 0 {
		parent := (i - 1) / arity
		if h[parent].before(&e) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// next takes off the first event; false when there is none before the instant end.
func (l *Loop) next(end work.Instant) (event, bool) {
	if len(l.heap) == 0 || l.heap[0].at >= end {
		return event{}, false
	}
	h := l.heap
	first, last := h[0], h[len(h)-1]
	l.heap = h[:len(h)-1]
	if h = l.heap; len(h) > 0 {
		l.sink(last)
	}
	return first, true
}

// sink finds the place of e from the top.
func (l *Loop) sink(e event) {
	h, i := l.heap, 0
	for {
		child := arity*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+arity, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if e.before(&h[least]) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
