package queue

import (
	"testing"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// One test for each known way of getting a queue wrong, named after it.

// Drop-expired on top of a plain LIFO never fires when it judges the unit that is
// served: the dead sit at the bottom. Here each Take judges the old end.
func TestTrapDropExpiredNeverFiresOnLIFO(t *testing.T) {
	for _, text := range []string{"lifo+expired", "lifo+deadline(70ms)", "adaptive-lifo+expired", "lifo+codel", "lifo+controlled-delay"} {
		q := New(Config{Discipline: discipline(t, text)})
		dropped := 0
		count := func(u work.Unit, _ work.Reason) { dropped++ }
		for i := range 1000 { // one is served for every two that arrive
			now := ms(10 * i)
			for k := range uint64(2) {
				q.Push(work.Unit{ID: uint64(2*i+1) + k, Enqueued: now, Deadline: now.Add(time.Second)}, now, count)
			}
			if u, ok := q.Take(now, count); !ok || u.Enqueued != now {
				t.Fatalf("%s: at %v took one of %v", text, now, u.Enqueued)
			}
		}
		if q.Len() > 300 {
			t.Errorf("%s: %d queued, %d dropped: the dead are kept", text, q.Len(), dropped)
		}
	}
}

// Adaptive LIFO turns back to the oldest when the burst is over and serves what
// the burst left behind. No mode may start a unit that cannot finish.
func TestTrapAdaptiveLIFOServesCorpses(t *testing.T) {
	const service = 50 * time.Millisecond
	for _, text := range []string{"adaptive-lifo", "adaptive-lifo+deadline(50ms)"} {
		q := New(Config{Discipline: discipline(t, text), Workers: 4})
		for range 100 {
			q.Observe(service, 0)
		}
		var id uint64
		push := func(now work.Instant) {
			id++
			q.Push(work.Unit{ID: id, Enqueued: now, Deadline: now.Add(time.Second)}, now, nil)
		}
		for range 5000 {
			push(0)
		}
		served := 0
		for now := ms(0); now < 10*second; now = now.Add(service / 4) {
			if int(now/ms(1))%100 == 0 {
				push(now)
			}
			u, ok := q.Take(now, func(work.Unit, work.Reason) {})
			if !ok {
				continue
			}
			served++
			q.Observe(service, now)
			if now.Add(service) > u.Deadline {
				t.Fatalf("%s: at %v started a unit with %v left", text, now, u.Deadline.Sub(now))
			}
		}
		if served < 150 || q.Len() > 4 {
			t.Errorf("%s: served %d, %d left", text, served, q.Len())
		}
	}
}

// CoDel that hands out the stale head and drops the one behind it.
func TestTrapCodelDropsTheUnitBehind(t *testing.T) {
	q := New(Config{Discipline: discipline(t, "fifo+codel")})
	for id := range uint64(10) {
		q.Push(work.Unit{ID: id + 1, Enqueued: 0, Deadline: work.Never}, 0, nil)
	}
	drop := func(u work.Unit, _ work.Reason) {
		if u.ID != 2 {
			t.Errorf("dropped %d, want the stale head, 2", u.ID)
		}
	}
	q.Take(ms(10), drop)
	if u, _ := q.Take(ms(110), drop); u.ID != 3 {
		t.Errorf("took %d, want the one behind the dropped head, 3", u.ID)
	}
}

// Dropping what has expired still does work for the about-to-die, and a margin of
// exactly the work time loses some to jitter. A margin beyond both loses none.
func TestTrapDropExpiredWithoutMargin(t *testing.T) {
	wasted := func(text string) float64 {
		q := New(Config{Discipline: discipline(t, text), Workers: 1})
		var rnd draw.Rand
		var id uint64
		late, done := 0, 0
		arrived := work.Instant(0)
		for now := ms(0); now < 200*second; {
			for ; arrived <= now; arrived += ms(25) { // twice what one worker can do
				id++
				q.Push(work.Unit{ID: id, Enqueued: arrived, Deadline: arrived.Add(time.Second)}, arrived, nil)
			}
			service := 50*time.Millisecond + time.Duration(rnd.Uint64()%500_000)
			u, ok := q.Take(now, func(work.Unit, work.Reason) {})
			if !ok {
				now += ms(1)
				continue
			}
			now = now.Add(service)
			q.Observe(service, now)
			done++
			if now > u.Deadline {
				late++
			}
		}
		return float64(late) / float64(done)
	}
	for _, c := range []struct {
		text      string
		low, high float64
	}{
		{"fifo+expired", 0.9, 1},
		{"fifo+deadline(0s)", 0.9, 1},
		{"fifo+deadline(50ms)", 0.001, 0.2},
		{"fifo+deadline(55ms)", 0, 0},
		{"fifo+deadline(70ms)", 0, 0},
		{"fifo+deadline(auto)", 0, 0.02}, // until it has learned
	} {
		if got := wasted(c.text); got < c.low || got > c.high {
			t.Errorf("%s: %.3f of the work is late, want %v to %v", c.text, got, c.low, c.high)
		}
	}
}

// A unit that leaves the queue and is handed out as well: leaving ends it.
func TestTrapClientLeavesAndUnitIsServed(t *testing.T) {
	for _, order := range []string{"fifo", "lifo", "edf", "priority", "adaptive-lifo+none"} {
		q := New(Config{Discipline: discipline(t, order)})
		for id := range uint64(2000) {
			q.Push(work.Unit{ID: id + 1, Deadline: work.Instant(id * 7919 % 1000)}, 0, nil)
		}
		for id := uint64(1); id <= 2000; id += 2 {
			if _, ok := q.Remove(id); !ok {
				t.Fatalf("%s: %d is not there", order, id)
			}
		}
		for range 1000 {
			if u, ok := q.Take(0, nil); !ok || u.ID%2 != 0 {
				t.Fatalf("%s: took %d, %v", order, u.ID, ok)
			}
		}
		if u, ok := q.Take(0, nil); ok {
			t.Fatalf("%s: %d was there twice", order, u.ID)
		}
	}
}
