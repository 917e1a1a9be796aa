package api

import (
	"time"

	"shedload/internal/work"
)

// place is where an operation is.
type place uint8

const (
	atDoor place = iota
	queued
	inService
	done
	failed // reason says why; None: canceled
)

// record is what is kept of an operation: 48 bytes without pointers, so that
// hundreds of thousands of them are nothing to the garbage collector.
type record struct {
	request  uint64
	arrived  work.Instant
	deadline work.Instant
	started  work.Instant // when it left the queue, one way or the other
	ended    work.Instant
	attempt  uint16
	class    uint8
	place    place
	reason   work.Reason
}

func (r *record) pending() bool { return r.place < done }

// waited is the time from arrival to the end of waiting.
func (r *record) waited(now work.Instant) time.Duration {
	if r.place < inService {
		return now.Sub(r.arrived)
	}
	return r.started.Sub(r.arrived)
}

// end notes how the operation ended.
func (r *record) end(res work.Result, now work.Instant) {
	if r.place < inService {
		r.started = now
	}
	r.ended, r.reason, r.place = now, res.Reason, failed
	if res.Outcome == work.Succeeded {
		r.place = done
	}
}

func (r *record) unit(id uint64) work.Unit {
	return work.Unit{ID: id, Request: r.request, Enqueued: r.arrived, Deadline: r.deadline, Attempt: r.attempt, Class: r.class}
}

// maxEnded bounds the operations that are kept after their end; the oldest leave early.
const maxEnded = 1_000_000

// operations holds the records of all operations that are pending, or ended less
// than the retention ago. Pending ones are bounded by the station's hard limit.
type operations struct {
	records   map[uint64]record
	ended     endedList
	limit     int // of ended
	retention time.Duration
	keys      map[key]uint64   // which operation a key leads to
	keyed     map[uint64]keyed // and back
}

func newOperations(retention time.Duration) operations {
	return operations{
		records: map[uint64]record{}, retention: retention, limit: maxEnded,
		keys: map[key]uint64{}, keyed: map[uint64]keyed{},
	}
}

// retain takes in that the operation has ended; from now on its days are counted.
func (o *operations) retain(id uint64, r record) {
	o.records[id] = r
	o.ended.push(endedEntry{id, r.ended})
	if o.ended.length > o.limit {
		o.forget(o.ended.pop().id)
	}
}

// expireStep bounds how many records leave at a time: with more than that due,
// the next call goes on.
const expireStep = 256

// expire lets go of records whose retention is over.
func (o *operations) expire(now work.Instant) {
	for range expireStep {
		oldest, ok := o.ended.first()
		if !ok || oldest.ended.Add(o.retention) > now {
			return
		}
		o.forget(o.ended.pop().id)
	}
}

func (o *operations) forget(id uint64) {
	delete(o.records, id)
	if k, ok := o.keyed[id]; ok {
		delete(o.keyed, id)
		if o.keys[k.key] == id { // a later attempt may have taken the key over
			delete(o.keys, k.key)
		}
	}
}

type endedEntry struct {
	id    uint64
	ended work.Instant
}

const endedChunk = 1024

// endedList is a queue in chunks: it gives memory back as it shrinks and never
// copies itself to grow.
type endedList struct {
	chunks [][]endedEntry
	head   int // in the first chunk
	length int
}

func (l *endedList) push(e endedEntry) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == endedChunk {
		l.chunks = append(l.chunks, make([]endedEntry, 0, endedChunk))
		last++
	}
	l.chunks[last] = append(l.chunks[last], e)
	l.length++
}

func (l *endedList) first() (endedEntry, bool) {
	if l.length == 0 {
		return endedEntry{}, false
	}
	return l.chunks[0][l.head], true
}

func (l *endedList) pop() endedEntry {
	e := l.chunks[0][l.head]
	l.head++
	l.length--
	if l.head == endedChunk {
		l.chunks[0] = nil
		l.chunks, l.head = l.chunks[1:], 0
	}
	return e
}
