package queue

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// rfc8289 is the pseudo-code of RFC 8289, section 5, over a slice, with one unit
// for an MTU. It is written to be compared with the RFC line by line.
type rfc8289 struct {
	queue                       []work.Unit
	firstAboveTime, dropNext    float64
	count, lastcount            int
	dropping                    bool
	target, interval            float64
	dropped                     []uint64
	okToDrop                    bool
	maxpacket, reentryIntervals int
}

func (c *rfc8289) doDequeue(now float64) (work.Unit, bool) {
	c.okToDrop = false
	if len(c.queue) == 0 {
		c.firstAboveTime = 0
		return work.Unit{}, false
	}
	u := c.queue[0]
	c.queue = c.queue[1:]
	sojourn := now - float64(u.Enqueued)
	switch {
	case sojourn < c.target || len(c.queue) <= c.maxpacket:
		c.firstAboveTime = 0
	case c.firstAboveTime == 0:
		c.firstAboveTime = now + c.interval
	case now >= c.firstAboveTime:
		c.okToDrop = true
	}
	return u, true
}

func (c *rfc8289) controlLaw(t float64) float64 {
	return t + math.Trunc(c.interval/math.Sqrt(float64(c.count)))
}

func (c *rfc8289) dequeue(now float64) (work.Unit, bool) {
	u, ok := c.doDequeue(now)
	if !ok {
		c.dropping = false
		return u, false
	}
	if c.dropping {
		if !c.okToDrop {
			c.dropping = false
		}
		for now >= c.dropNext && c.dropping {
			c.dropped = append(c.dropped, u.ID)
			c.count++
			u, ok = c.doDequeue(now)
			if !c.okToDrop {
				c.dropping = false
			} else {
				c.dropNext = c.controlLaw(c.dropNext)
			}
		}
	} else if c.okToDrop {
		c.dropped = append(c.dropped, u.ID)
		u, ok = c.doDequeue(now)
		c.dropping = true
		delta := c.count - c.lastcount
		c.count = 1
		if delta > 1 && now-c.dropNext < float64(c.reentryIntervals)*c.interval {
			c.count = delta
		}
		c.dropNext = c.controlLaw(now)
		c.lastcount = c.count
	}
	return u, ok
}

func TestCodelIsRFC8289(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const start = work.Instant(time.Hour) // the RFC takes instant 0 for "not set"
		want := rfc8289{target: 5e6, interval: 100e6, maxpacket: 1, reentryIntervals: 16}
		q := New(Config{Discipline: discipline(t, "fifo+codel")})
		var dropped []uint64
		now, id := start, uint64(0)
		period := time.Duration(rapid.IntRange(2, 40).Draw(t, "service ms")) * time.Millisecond
		for range rapid.IntRange(1, 3000).Draw(t, "takes") {
			now = now.Add(period)
			for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 5, 40}).Draw(t, "arrivals") {
				id++
				u := work.Unit{ID: id, Enqueued: now - work.Instant(period/2), Deadline: work.Never}
				want.queue = append(want.queue, u)
				q.Push(u, u.Enqueued, nil)
			}
			wantUnit, wantOK := want.dequeue(float64(now))
			u, ok := q.Take(now, func(u work.Unit, r work.Reason) {
				if r != work.Codel {
					t.Fatalf("unit %d dropped for %v", u.ID, r)
				}
				dropped = append(dropped, u.ID)
			})
			if u != wantUnit || ok != wantOK || !slices.Equal(dropped, want.dropped) {
				t.Fatalf("at %v: took %v %v, dropped %v; the RFC takes %v %v, drops %v", now, u.ID, ok, dropped, wantUnit.ID, wantOK, want.dropped)
			}
		}
	})
}

func TestCodelStartsAnewAfterAnEmptyQueue(t *testing.T) {
	q := New(Config{Discipline: discipline(t, "fifo+codel")})
	var id uint64
	fill := func(n int, now work.Instant) {
		for range n {
			id++
			q.Push(work.Unit{ID: id, Enqueued: now, Deadline: work.Never}, now, nil)
		}
	}
	dropped := 0
	count := func(work.Unit, work.Reason) { dropped++ }
	fill(10, 0)
	q.Take(ms(50), count)  // above target, for the first time
	q.Take(ms(151), count) // for an interval: drops
	if dropped != 1 {
		t.Fatalf("dropped %d, want 1", dropped)
	}
	for q.Len() > 0 { // clients leave: no dequeue sees the end of the queue
		u, _ := q.Oldest()
		q.Remove(u.ID)
	}
	fill(10, ms(400))
	q.Take(ms(450), count)
	if dropped != 1 {
		t.Fatal("dropped out of a queue that was empty 50 ms ago")
	}
}

func TestControlledDelay(t *testing.T) {
	shed := controlledDelay{target: 5 * time.Millisecond, interval: 100 * time.Millisecond}
	for _, c := range []struct {
		name                     string
		enqueued, busySince, now work.Instant
		want                     work.Reason
	}{
		{"a burst may wait an interval", ms(0), ms(0), ms(100), work.None},
		{"not longer", ms(0), ms(0), ms(100) + 1, work.Sojourn},
		{"busy for exactly an interval", ms(95), ms(0), ms(100), work.None},
		{"busy longer: target", ms(95), ms(0), ms(100) + 1, work.Sojourn},
		{"busy longer: exactly target", ms(196), ms(0), ms(201), work.None},
		{"busy longer: beyond target", ms(196), ms(0), ms(201) + 1, work.Sojourn},
		{"empty a moment ago", ms(100), ms(190), ms(200), work.None},
	} {
		v := View{Len: 1, Oldest: c.enqueued, BusySince: c.busySince}
		if got := shed.Drop(work.Unit{Enqueued: c.enqueued, Deadline: work.Never}, v, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// ms returns the instant n milliseconds after the start.
func ms(n int) work.Instant { return work.Instant(n) * work.Instant(time.Millisecond) }
