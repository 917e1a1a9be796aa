package queue

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

const second = work.Instant(time.Second)

func autoQueue(t *testing.T) *Queue {
	return New(Config{Discipline: discipline(t, "fifo+deadline(auto)"), Workers: 4})
}

func TestAutoMargin(t *testing.T) {
	patient := work.Unit{Enqueued: 0, Deadline: work.Instant(time.Hour)}
	for _, c := range []struct {
		name    string
		samples func(observe func(time.Duration))
		unit    work.Unit
		low     time.Duration
		high    time.Duration
	}{
		{"49 samples: none", times(49, 50*time.Millisecond), patient, 0, 0},
		{"50 samples: p99 + 5ms", times(50, 50*time.Millisecond), patient, 55 * time.Millisecond, 56 * time.Millisecond},
		{"spread: p99 + (p99 - p50)", func(observe func(time.Duration)) {
			times(900, 50*time.Millisecond)(observe)
			times(100, 100*time.Millisecond)(observe)
		}, patient, 150 * time.Millisecond, 152 * time.Millisecond},
		{"one in a hundred is not p99", func(observe func(time.Duration)) {
			times(990, 50*time.Millisecond)(observe)
			times(10, time.Second)(observe)
		}, patient, 55 * time.Millisecond, 56 * time.Millisecond},
		{"at most half the patience", times(100, 50*time.Millisecond),
			work.Unit{Enqueued: 0, Deadline: ms(80)}, 40 * time.Millisecond, 40 * time.Millisecond},
		{"a deadline before the arrival", times(100, 50*time.Millisecond),
			work.Unit{Enqueued: ms(80), Deadline: 0}, 0, 0},
	} {
		q := autoQueue(t)
		c.samples(func(d time.Duration) { q.Observe(d, ms(10)) })
		if got := q.Margin(c.unit, ms(20)); got < c.low || got > c.high {
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.low, c.high)
		}
	}
}

func times(n int, d time.Duration) func(func(time.Duration)) {
	return func(observe func(time.Duration)) {
		for range n {
			observe(d)
		}
	}
}

func TestAutoMarginForgetsAfterTenSeconds(t *testing.T) {
	q := autoQueue(t)
	u := work.Unit{Deadline: work.Instant(time.Hour)}
	for at := work.Instant(0); at < 30*second; at += ms(10) {
		d := 200 * time.Millisecond
		if at >= 10*second {
			d = 20 * time.Millisecond
		}
		q.Observe(d, at)
		switch m := q.Margin(u, at); {
		case at > second && at < 10*second && m < 205*time.Millisecond:
			t.Fatalf("at %v the margin is %v", at, m)
		case at > 20*second && m > 26*time.Millisecond:
			t.Fatalf("at %v the margin is still %v", at, m)
		}
	}
}

func TestWindowMatchesSortedSamples(t *testing.T) {
	type sample struct {
		at work.Instant
		d  time.Duration
	}
	rapid.Check(t, func(t *rapid.T) {
		var w window
		var all []sample
		now := work.Instant(0)
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "gap")) * time.Millisecond)
			if rapid.IntRange(0, 60).Draw(t, "pause") == 0 {
				now = now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "s")) * time.Second)
			}
			s := sample{now, time.Duration(rapid.Int64Range(0, int64(2*time.Hour)>>rapid.IntRange(0, 40).Draw(t, "size")).Draw(t, "d"))}
			w.add(s.d, now)
			all = append(all, s)
		}
		var in []time.Duration
		for _, s := range all {
			if s.at/second > now/second-windowSlots {
				in = append(in, min(s.d, maxSample))
			}
		}
		slices.Sort(in)
		if w.n != len(in) {
			t.Fatalf("%d samples in the window, want %d", w.n, len(in))
		}
		p50, p99 := w.quantiles()
		for _, q := range []struct{ got, exact time.Duration }{
			{p50, in[(len(in)+1)/2-1]}, {p99, in[(99*len(in)+99)/100-1]},
		} {
			if q.got < q.exact || q.got > q.exact+q.exact/subBuckets+time.Microsecond {
				t.Fatalf("quantile is %v, exactly %v", q.got, q.exact)
			}
		}
	})
}

// TestAutoMarginNeverLocksItselfIn: work was slow, is fast again, and every unit
// that a worker sees is older than half its patience, so that the margin learned
// in the slow time drops them all.
func TestAutoMarginNeverLocksItselfIn(t *testing.T) {
	for _, order := range []string{"fifo", "lifo", "edf", "adaptive-lifo", "priority"} {
		q := New(Config{Discipline: discipline(t, order+"+deadline(auto)"), Workers: 4})
		for range 100 {
			q.Observe(900*time.Millisecond, 0)
		}
		var id uint64
		var handed []work.Instant
		for now := ms(20); now < 9*second; now += ms(20) {
			for range 2 {
				id++
				q.Push(work.Unit{ID: id, Enqueued: now - ms(600), Deadline: now + ms(400)}, now, nil)
			}
			if _, ok := q.Take(now, func(work.Unit, work.Reason) {}); ok {
				handed = append(handed, now)
			}
		}
		if len(handed) < 8 {
			t.Fatalf("%s: in 9 s only %d units went through, at %v", order, len(handed), handed)
		}
		for i := 1; i < len(handed); i++ {
			if gap := handed[i].Sub(handed[i-1]); gap < time.Second || gap > 1020*time.Millisecond {
				t.Errorf("%s: probes %v apart, want 1s", order, gap)
			}
		}
	}
}

func TestProbeIsAnUnexpiredUnit(t *testing.T) {
	q := autoQueue(t)
	for range 100 {
		q.Observe(50*time.Millisecond, 0)
	}
	q.Push(work.Unit{ID: 1, Deadline: 2 * second}, 0, nil)
	q.Push(work.Unit{ID: 2, Deadline: 2*second + 1}, 0, nil)
	q.Push(work.Unit{ID: 3, Deadline: 2*second + 1}, 0, nil)
	var got []ending
	dropped := func(u work.Unit, r work.Reason) { got = append(got, ending{u.ID, r}) }
	u, ok := q.Take(2*second, dropped)
	if !ok || u.ID != 2 {
		t.Errorf("took %d, %v; want the first unexpired unit, 2", u.ID, ok)
	}
	if _, ok := q.Take(2*second, dropped); ok {
		t.Error("a second unit went through at once")
	}
	if !slices.Equal(got, []ending{{1, work.Expired}, {3, work.Doomed}}) {
		t.Errorf("dropped %v", got)
	}
}
