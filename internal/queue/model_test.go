package queue

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// ending is how a unit left.
type ending struct {
	id     uint64
	reason work.Reason // None: taken
}

// oracle is the queue as one would write it on a napkin: a slice in order of
// arrival, searched from end to end.
type oracle struct {
	units   []work.Unit
	order   string
	expired bool
	margin  time.Duration // negative: no deadline shed
	limit   int           // 0: none
	workers int
	endings []ending
}

func (o *oracle) end(i int, r work.Reason) {
	o.endings = append(o.endings, ending{o.units[i].ID, r})
	o.units = slices.Delete(o.units, i, i+1)
}

func (o *oracle) push(u work.Unit) {
	for o.limit > 0 && len(o.units) >= o.limit {
		o.end(0, work.Evicted)
	}
	i, _ := slices.BinarySearchFunc(o.units, u.ID, func(u work.Unit, id uint64) int { return cmp.Compare(u.ID, id) })
	o.units = slices.Insert(o.units, i, u)
}

func (o *oracle) judge(u work.Unit, now work.Instant) work.Reason {
	late := now >= u.Deadline
	if late && (o.expired || o.margin > 0 || o.margin == 0 && now > u.Deadline) {
		return work.Expired
	}
	if o.margin >= 0 && now+work.Instant(o.margin) > u.Deadline {
		return work.Doomed
	}
	return work.None
}

func (o *oracle) next(now work.Instant) int {
	newest := len(o.units) - 1
	switch o.order {
	case "lifo":
		return newest
	case "adaptive-lifo+none":
		if len(o.units) > o.workers || now.Sub(o.units[0].Enqueued) > 100*time.Millisecond {
			return newest
		}
	case "edf":
		return o.least(func(u work.Unit) int64 { return int64(u.Deadline) })
	case "priority":
		return o.least(func(u work.Unit) int64 { return int64(u.Class) })
	}
	return 0
}

func (o *oracle) least(key func(work.Unit) int64) int {
	best := 0
	for i, u := range o.units {
		if key(u) < key(o.units[best]) {
			best = i
		}
	}
	return best
}

func (o *oracle) take(now work.Instant) {
	for len(o.units) > 0 {
		if r := o.judge(o.units[0], now); r != work.None {
			o.end(0, r)
			continue
		}
		break
	}
	for len(o.units) > 0 {
		i := o.next(now)
		r := o.judge(o.units[i], now)
		o.end(i, r)
		if r == work.None {
			return
		}
	}
}

// configure draws a discipline that the oracle knows.
func (o *oracle) configure(t *rapid.T) Config {
	o.order = rapid.SampledFrom([]string{"fifo", "lifo", "edf", "priority", "adaptive-lifo+none"}).Draw(t, "order")
	text := o.order
	add := func(shed string) {
		if o.order == "adaptive-lifo+none" {
			text = "adaptive-lifo"
		}
		text += shed
	}
	o.expired, o.margin, o.limit = rapid.Bool().Draw(t, "expired"), -1, 0
	if o.expired {
		add("+expired")
	}
	if rapid.Bool().Draw(t, "deadline") {
		o.margin = time.Duration(rapid.IntRange(0, 70).Draw(t, "margin")) * time.Millisecond
		if o.order == "adaptive-lifo+none" && !o.expired {
			text = "adaptive-lifo"
		}
		text += fmt.Sprintf("+deadline(%v)", o.margin)
	}
	if rapid.IntRange(0, 3).Draw(t, "evict") == 0 {
		o.limit = rapid.IntRange(1, 1500).Draw(t, "limit")
		text += "+evict"
	}
	o.workers = rapid.IntRange(0, 5).Draw(t, "workers")
	return Config{Discipline: discipline(t, text), Limit: o.limit, Workers: o.workers, Classes: benchClasses}
}

// TestQueueMatchesOracle drives the queue and the napkin with the same calls,
// changes of discipline included, and wants the same units to end in the same
// order for the same reasons: each once, none invented, the bound never exceeded.
func TestQueueMatchesOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o oracle
		var endings []ending
		dropped := func(u work.Unit, r work.Reason) { endings = append(endings, ending{u.ID, r}) }
		q := New(o.configure(t))
		now, last := work.Instant(0), uint64(0)
		unit := func(id uint64) work.Unit {
			patience := time.Duration(rapid.IntRange(0, 300).Draw(t, "patience")) * time.Millisecond
			u := work.Unit{ID: id, Request: id * 3, Enqueued: now, Deadline: now.Add(patience), Attempt: 7}
			u.Class = uint8(rapid.IntRange(0, 3).Draw(t, "class"))
			if patience == 0 {
				u.Deadline = work.Never
			}
			return u
		}
		push := func(u work.Unit) {
			o.push(u)
			q.Push(u, now, dropped)
			if o.limit > 0 && q.Len() > o.limit {
				t.Fatalf("%d queued: the limit is %d", q.Len(), o.limit)
			}
		}
		take := func() {
			o.take(now)
			if u, ok := q.Take(now, dropped); ok {
				endings = append(endings, ending{u.ID, work.None})
			}
		}
		someID := func() uint64 { return rapid.Uint64Range(0, last+1).Draw(t, "id") }
		actions := map[string]func(*rapid.T){
			"push": func(t *rapid.T) { last += 4; push(unit(last)) },
			"push many": func(t *rapid.T) {
				u := unit(0)
				for range rapid.IntRange(1, 3000).Draw(t, "n") {
					last += 4
					u.ID, u.Class = last, uint8(last/4%7%4)
					push(u)
				}
			},
			"push late": func(t *rapid.T) {
				if id := someID(); !slices.ContainsFunc(o.units, func(u work.Unit) bool { return u.ID == id }) && id <= last {
					push(unit(id))
				}
			},
			"take": func(*rapid.T) { take() },
			"take many": func(t *rapid.T) {
				for range rapid.IntRange(1, 1200).Draw(t, "n") {
					take()
				}
			},
			"wait": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 80).Draw(t, "ms")) * time.Millisecond) },
			"remove": func(t *rapid.T) {
				id := someID()
				i := slices.IndexFunc(o.units, func(u work.Unit) bool { return u.ID == id })
				u, ok := q.Remove(id)
				if ok != (i >= 0) || ok && u != o.units[i] {
					t.Fatalf("Remove(%d) = %v, %v", id, u, ok)
				}
				if ok {
					o.units = slices.Delete(o.units, i, i+1)
				}
			},
			"remove most": func(t *rapid.T) {
				keep := rapid.IntRange(2, 600).Draw(t, "keep each")
				kept := o.units[:0]
				for i, u := range o.units {
					if i%keep == 0 {
						kept = append(kept, u)
					} else if _, ok := q.Remove(u.ID); !ok {
						t.Fatalf("Remove(%d): not there", u.ID)
					}
				}
				o.units = kept
			},
			"extend": func(t *rapid.T) {
				id, d := someID(), now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "ms"))*time.Millisecond)
				i := slices.IndexFunc(o.units, func(u work.Unit) bool { return u.ID == id })
				if ok := q.Extend(id, d); ok != (i >= 0) {
					t.Fatalf("Extend(%d) = %v", id, ok)
				}
				if i >= 0 {
					o.units[i].Deadline = max(o.units[i].Deadline, d)
				}
			},
			"configure":   func(t *rapid.T) { q.Configure(o.configure(t)) },
			"set workers": func(t *rapid.T) { o.workers = rapid.IntRange(0, 9).Draw(t, "n"); q.SetWorkers(o.workers) },
			"drain": func(t *rapid.T) {
				for len(o.units) > 0 {
					o.end(0, work.Closed)
				}
				q.Drain(work.Closed, dropped)
			},
			"": func(t *rapid.T) {
				if !slices.Equal(endings, o.endings) {
					t.Fatalf("units ended as %v, want %v", endings, o.endings)
				}
				endings, o.endings = endings[:0], o.endings[:0]
				if q.Len() != len(o.units) {
					t.Fatalf("%d queued, want %d", q.Len(), len(o.units))
				}
				if u, ok := q.Oldest(); ok != (len(o.units) > 0) || ok && u != o.units[0] {
					t.Fatalf("oldest is %v, %v", u, ok)
				}
				checkStore(t, &q.store, o.units)
				checkHeap(t, q)
			},
		}
		for range 4 { // runs of the usual length hardly fill a few chunks
			t.Repeat(actions)
		}
	})
}

// checkStore checks what the store promises itself, and that it holds exactly want.
func checkStore(t *rapid.T, s *store, want []work.Unit) {
	if limit := s.n/(sparse/2) + 4; len(s.dir) > limit {
		t.Fatalf("%d chunks for %d units: allowed are %d", len(s.dir), s.n, limit)
	}
	var got []work.Unit
	for i, l := range s.dir {
		n := 0
		for slot := range chunkUnits {
			if !l.isLive(slot) {
				continue
			}
			n++
			got = append(got, l.units[slot])
			if id := l.units[slot].ID; id < l.from || i+1 < len(s.dir) && id >= s.dir[i+1].from || slot < l.lo || slot >= l.hi {
				t.Fatalf("unit %d in slot %d of chunk %d [%d, %d) from %d", id, slot, i, l.lo, l.hi, l.from)
			}
		}
		if n == 0 || n != l.n || !l.isLive(l.lo) || !l.isLive(l.hi-1) {
			t.Fatalf("chunk %d [%d, %d) holds %d units, counts %d", i, l.lo, l.hi, n, l.n)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("store holds %d units, want %d, or others", len(got), len(want))
	}
}

func checkHeap(t *rapid.T, q *Queue) {
	if q.keyed == nil && q.heap.n > 0 || q.heap.n > 2*q.store.n+heapChunk {
		t.Fatalf("%d heap entries for %d units", q.heap.n, q.store.n)
	}
	if most := (q.heap.n+heapShift)/heapChunk + 2; len(q.heap.chunks) > most {
		t.Fatalf("%d heap chunks for %d entries: allowed are %d", len(q.heap.chunks), q.heap.n, most)
	}
	for i := 1; i < q.heap.n; i++ {
		if q.heap.at(i).before(*q.heap.at((i - 1) / heapArity)) {
			t.Fatalf("heap entry %d is before its parent", i)
		}
	}
}
