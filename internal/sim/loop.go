package sim

import (
	"time"

	"shedload/internal/work"
)

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

// event is a small value: what happens is told by its kind, to whom by group, a and
// b. In order stand, from the top, 8 bits of phase, 46 of sequence number, 6 of group
// and 4 of kind, so that an event is half a cache line and one comparison.
type event struct {
	at    work.Instant
	order uint64
	a, b  uint64
}

const (
	kindBits      = 4
	sequenceShift = kindBits + groupBits
	phaseShift    = 56
)

// happening returns an event that is not scheduled yet.
func happening(k kind, group uint32, a, b uint64) event {
	return event{order: uint64(group)<<kindBits | uint64(k), a: a, b: b}
}

func (e *event) kind() kind    { return kind(e.order & (1<<kindBits - 1)) }
func (e *event) group() uint32 { return uint32(e.order >> kindBits & (1<<groupBits - 1)) }

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

const (
	bucketWidth = work.Instant(time.Millisecond)
	buckets     = 1 << 12 // of the wheel: it spans about four seconds
)

// Loop holds the events to come, ordered by (time, phase, sequence), so that a
// run is the same every time. Events of the next four seconds lie unordered in
// buckets of a millisecond; only those of the bucket at hand, and the few that
// are farther away, are kept in heaps. See Brown, "Calendar queues", 1988.
type Loop struct {
	sequence uint64
	cursor   int64     // number of the bucket at hand
	hand     heap      // its events
	wheel    []*bundle // the others
	inWheel  int
	far      heap
	spare    *bundle // emptied ones, to be used again
}

// bundle is a part of a bucket: half a kilobyte, so that neither a bucket of few
// events nor one of many wastes much.
type bundle struct {
	next   *bundle
	n      int
	events [15]event
}

// at schedules e for the instant t, which must not lie before the last event.
func (l *Loop) at(t work.Instant, p Phase, e event) {
	l.sequence++
	e.at = t
	e.order |= uint64(p)<<phaseShift | l.sequence<<sequenceShift
	switch number := int64(t / bucketWidth); {
	case number <= l.cursor:
		l.hand.push(e)
	case number < l.cursor+buckets:
		l.put(number, e)
	default:
		l.far.push(e)
	}
}

func (l *Loop) put(number int64, e event) {
	if l.wheel == nil {
		l.wheel = make([]*bundle, buckets)
	}
	first := &l.wheel[number%buckets]
	b := *first
	if b == nil || b.n == len(b.events) {
		if b = l.spare; b == nil {
			b = new(bundle)
		} else {
			l.spare = b.next
		}
		b.next, b.n = *first, 0
		*first = b
	}
	b.events[b.n] = e
	b.n++
	l.inWheel++
}

// next takes off the first event; false when there is none before the instant end.
func (l *Loop) next(end work.Instant) (event, bool) {
	for len(l.hand) == 0 {
		if !l.advance() {
			return event{}, false
		}
	}
	if l.hand[0].at >= end {
		return event{}, false
	}
	return l.hand.pop(), true
}

// advance brings the next bucket that has events to hand; false when there is none.
func (l *Loop) advance() bool {
	switch {
	case l.inWheel > 0:
		l.cursor++
	case len(l.far) > 0:
		l.cursor = int64(l.far[0].at / bucketWidth)
	default:
		return false
	}
	if l.inWheel > 0 {
		l.take(&l.wheel[l.cursor%buckets])
	}
	for len(l.far) > 0 && int64(l.far[0].at/bucketWidth) <= l.cursor {
		l.hand.push(l.far.pop())
	}
	return true
}

// take brings the events of a bucket to hand, which is empty.
func (l *Loop) take(first **bundle) {
	for b := *first; b != nil; b = *first {
		l.hand = append(l.hand, b.events[:b.n]...)
		l.inWheel -= b.n
		*first, b.next, l.spare = b.next, l.spare, b
	}
	l.hand.order()
}
