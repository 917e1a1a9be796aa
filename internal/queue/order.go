package queue

import (
	"time"

	"shedload/internal/work"
)

// fifo serves in order of arrival.
type fifo struct{}

func (fifo) Next(View, work.Instant) End { return Oldest }

// lifo serves the latest arrival.
type lifo struct{}

func (lifo) Next(View, work.Instant) End { return Newest }

// staleAfter is the wait of the oldest unit beyond which adaptiveLIFO takes the
// queue to be behind, however short it is.
const staleAfter = 100 * time.Millisecond

// adaptiveLIFO is fifo while the queue keeps up and lifo while it is behind
// (Maurer, "Fail at Scale", ACM Queue 13(8), 2015). A short queue of old units is
// behind as well: it is what a burst leaves.
type adaptiveLIFO struct{}

func (adaptiveLIFO) Next(v View, now work.Instant) End {
	if v.Len > v.Workers || now.Sub(v.Oldest) > staleAfter {
		return Newest
	}
	return Oldest
}

// edf serves the earliest deadline first.
type edf struct{}

func (edf) Key(u work.Unit) int64 { return int64(u.Deadline) }

// priority serves the most important class first.
type priority struct{ classes []work.Class }

func (p priority) Key(u work.Unit) int64 {
	if int(u.Class) < len(p.classes) {
		return int64(p.classes[u.Class].Criticality)
	}
	return int64(work.Sheddable)
}
