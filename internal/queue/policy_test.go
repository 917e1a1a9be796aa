package queue

import (
	"testing"
	"time"

	"shedload/internal/work"
)

func TestDeadlineBoundaries(t *testing.T) {
	const m = 70 * time.Millisecond
	u := work.Unit{Enqueued: 0, Deadline: ms(1000)}
	for _, c := range []struct {
		name string
		shed Shed
		now  work.Instant
		want work.Reason
	}{
		{"expired: a moment before", expired{}, ms(1000) - 1, work.None},
		{"expired: at the deadline", expired{}, ms(1000), work.Expired},
		{"margin 0: at the deadline", doomed{0}, ms(1000), work.None},
		{"margin 0: past it", doomed{0}, ms(1000) + 1, work.Expired},
		{"margin 70: just enough left", doomed{m}, ms(930), work.None},
		{"margin 70: too little left", doomed{m}, ms(930) + 1, work.Doomed},
		{"margin 70: past the deadline", doomed{m}, ms(1000), work.Expired},
	} {
		if got := c.shed.Drop(u, View{}, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, shed := range []Shed{expired{}, doomed{m}, doomed{time.Hour}, autoDoomed{new(estimate)}} {
		if got := shed.Drop(work.Unit{Deadline: work.Never}, View{}, work.Never-1); got != work.None {
			t.Errorf("%T drops a unit without a deadline: %q", shed, got)
		}
	}
}

func TestAdaptiveLIFOSwitches(t *testing.T) {
	for _, c := range []struct {
		name string
		view View
		now  work.Instant
		want End
	}{
		{"short and fresh", View{Len: 4, Workers: 4, Oldest: ms(0)}, ms(100), Oldest},
		{"longer than the workers", View{Len: 5, Workers: 4, Oldest: ms(0)}, ms(0), Newest},
		{"short and old", View{Len: 1, Workers: 4, Oldest: ms(0)}, ms(100) + 1, Newest},
	} {
		if got := (adaptiveLIFO{}).Next(c.view, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPriorityKeepsUnknownClassesLast(t *testing.T) {
	p := priority{[]work.Class{{Criticality: work.Critical}}}
	if p.Key(work.Unit{Class: 0}) >= p.Key(work.Unit{Class: 9}) {
		t.Error("a class that is not configured comes before a critical one")
	}
	none := priority{}
	if none.Key(work.Unit{Class: 0}) != none.Key(work.Unit{Class: 1}) {
		t.Error("without classes the order is not that of arrival")
	}
}

func TestPickedUnitIsAskedAboutItsDeadlineOnly(t *testing.T) {
	q := New(Config{Discipline: discipline(t, "edf+deadline(70ms)+controlled-delay")})
	push := func(id uint64, enqueued, deadline work.Instant) {
		q.Push(work.Unit{ID: id, Enqueued: enqueued, Deadline: deadline}, enqueued, nil)
	}
	push(1, ms(99), ms(1000))
	push(2, ms(99), ms(150)) // doomed at 100 ms, but not the oldest
	push(3, ms(0), ms(500))  // has waited too long, but not the oldest: it waited at the door
	var got []ending
	u, _ := q.Take(ms(101), func(u work.Unit, r work.Reason) { got = append(got, ending{u.ID, r}) })
	if len(got) != 1 || got[0] != (ending{2, work.Doomed}) || u.ID != 3 {
		t.Errorf("took %d, dropped %v; want 3 taken and 2 doomed", u.ID, got)
	}
}

func TestConfigureKeepsUnitsAndLearning(t *testing.T) {
	q := New(Config{})
	for i := range 1000 {
		q.Push(work.Unit{ID: uint64(i + 1), Deadline: ms(2000 - i)}, 0, nil)
		q.Observe(20*time.Millisecond, 0)
	}
	for _, c := range []struct {
		text string
		want uint64
	}{{"fifo", 1}, {"edf", 1000}, {"lifo", 999}, {"priority", 2}, {"edf+deadline(auto)", 998}} {
		q.Configure(Config{Discipline: discipline(t, c.text)})
		if u, ok := q.Take(0, nil); !ok || u.ID != c.want {
			t.Errorf("%s took %d, want %d", c.text, u.ID, c.want)
		}
	}
	if q.Len() != 995 {
		t.Errorf("%d left, want 995", q.Len())
	}
	if m := q.Margin(work.Unit{Deadline: ms(1000)}, 0); m < 25*time.Millisecond || m > 26*time.Millisecond {
		t.Errorf("margin after the switch is %v, want about 25ms", m)
	}
}

func TestEvictionDropsTheOldestBeforeThePush(t *testing.T) {
	for _, text := range []string{"fifo+evict(2)", "lifo+evict(2)", "edf+evict(2)", "priority+evict(2)", "adaptive-lifo+evict(2)"} {
		q := New(Config{Discipline: discipline(t, text)})
		var evicted []uint64
		for id := range uint64(4) {
			q.Push(work.Unit{ID: id + 1, Deadline: work.Never}, 0, func(u work.Unit, r work.Reason) {
				if r != work.Evicted || q.Len() != 1 {
					t.Errorf("%s: %q with %d left", text, r, q.Len())
				}
				evicted = append(evicted, u.ID)
			})
		}
		if len(evicted) != 2 || evicted[0] != 1 || evicted[1] != 2 {
			t.Errorf("%s evicted %v, want 1 and 2", text, evicted)
		}
	}
}

func TestLowerLimitTakesEffectAtTheNextPush(t *testing.T) {
	q := New(Config{Discipline: discipline(t, "lifo+evict"), Limit: 10})
	for id := range uint64(10) {
		q.Push(work.Unit{ID: id + 1}, 0, nil)
	}
	q.Configure(Config{Discipline: discipline(t, "lifo+evict"), Limit: 3})
	evicted := 0
	q.Push(work.Unit{ID: 11}, 0, func(work.Unit, work.Reason) { evicted++ })
	if evicted != 8 || q.Len() != 3 {
		t.Errorf("evicted %d, %d left; want 8 and 3", evicted, q.Len())
	}
}

func TestSameIDTwicePanics(t *testing.T) {
	for _, id := range []uint64{1, 2, 3} {
		q := New(Config{})
		for i := range uint64(3) {
			q.Push(work.Unit{ID: i + 1}, 0, nil)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("unit %d was queued twice", id)
				}
			}()
			q.Push(work.Unit{ID: id}, 0, nil)
		}()
	}
}
