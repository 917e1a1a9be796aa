package queue

import (
	"testing"

	"shedload/internal/work"
)

// retained counts the chunks that the queue holds on to.
func retained(q *Queue) (units, entries int) {
	units = len(q.store.dir)
	if q.store.spare != nil {
		units++
	}
	return units, len(q.heap.chunks)
}

func TestMemoryReturnsAsTheBacklogDrains(t *testing.T) {
	const backlog = 100_000
	for _, text := range []string{"fifo", "lifo", "edf", "priority", "adaptive-lifo+none", "fifo+expired", "priority+expired"} {
		q := New(Config{Discipline: discipline(t, text), Classes: benchClasses})
		var source unitSource
		for range backlog {
			u := *source.next()
			u.Deadline = 1000 + u.Deadline%1000
			q.Push(u, 0, nil)
		}
		for q.Len() > 0 {
			q.Take(0, nil)
			if q.Len()%10_000 != 0 {
				continue
			}
			units, entries := retained(q)
			if most := q.Len()/(sparse/2) + 5; units > most || entries > q.Len()/heapChunk+2 {
				t.Fatalf("%s: %d chunks and %d heap chunks for %d units", text, units, entries, q.Len())
			}
		}
		if units, entries := retained(q); units > 1 || entries > 2 || len(q.store.base) > 64 {
			t.Errorf("%s: empty, and keeps %d chunks, %d heap chunks, a directory of %d", text, units, entries, len(q.store.base))
		}
	}
}

func TestMemoryReturnsWhenThePrefixExpires(t *testing.T) {
	for _, text := range []string{"fifo+expired", "lifo+deadline", "edf+expired", "priority+expired", "adaptive-lifo+controlled-delay"} {
		q := New(Config{Discipline: discipline(t, text), Classes: benchClasses})
		var source unitSource
		for range 100_000 {
			u := *source.next()
			u.Deadline = ms(1000)
			q.Push(u, 0, nil)
		}
		q.Take(ms(2000), func(work.Unit, work.Reason) {})
		if units, entries := retained(q); units > 1 || entries > 2 {
			t.Errorf("%s: keeps %d chunks and %d heap chunks", text, units, entries)
		}
	}
}

// Important units come and go at the new end; of each 128 one stays, the last, so
// that a chunk is thinned out just when it is full.
func TestMemoryFollowsAQueueThinnedOutWhileItFills(t *testing.T) {
	q := New(Config{Discipline: discipline(t, "priority"), Classes: benchClasses})
	const kept = 3000
	id := uint64(0)
	for range kept {
		for k := range 128 {
			id++
			u := work.Unit{ID: id, Deadline: work.Never}
			if k == 127 {
				u.Class = 3
			}
			q.Push(u, 0, nil)
		}
		for range 127 {
			q.Take(0, nil)
		}
	}
	units, entries := retained(q)
	if q.Len() != kept || units > kept/(sparse/2)+5 || entries > kept/heapChunk+2 {
		t.Errorf("%d units in %d chunks and %d heap chunks", q.Len(), units, entries)
	}
}

func TestNoAllocationAUnit(t *testing.T) {
	for _, text := range []string{"fifo", "lifo", "edf", "priority", "fifo+deadline(auto)", "fifo+codel", "adaptive-lifo+controlled-delay", "lifo+evict(5000)"} {
		q := New(Config{Discipline: discipline(t, text), Workers: 4, Classes: benchClasses})
		var source unitSource
		for range 5000 {
			q.Push(*source.next(), 0, ignore)
		}
		round := func() {
			for range 4 * chunkUnits {
				q.Push(*source.next(), 0, ignore)
				q.Take(0, ignore)
				q.Observe(1, 0)
			}
		}
		if n := testing.AllocsPerRun(20, round); n > 0 {
			t.Errorf("%s: %v allocations for %d units", text, n, 4*chunkUnits)
		}
	}
}
