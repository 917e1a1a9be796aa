package queue

import (
	"container/list"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

func ignore(work.Unit, work.Reason) {}

// line is what the benchmarks need of a queue, ours or a peer. take returns the
// ID, so that what is measured is the queue and not the copying around it.
type line interface {
	push(u *work.Unit)
	take() uint64
}

type ours struct{ q *Queue }

func (o ours) push(u *work.Unit) { o.q.Push(*u, 0, ignore) }
func (o ours) take() uint64 {
	u, _ := o.q.Take(0, ignore)
	return u.ID
}

// ring is the usual slice used as a circle that doubles when full.
type ring struct {
	units   []work.Unit
	head, n int
}

func (r *ring) push(u *work.Unit) {
	if r.n == len(r.units) {
		larger := make([]work.Unit, max(16, 2*r.n))
		k := copy(larger, r.units[r.head:])
		copy(larger[k:], r.units[:r.head])
		r.units, r.head = larger, 0
	}
	r.units[(r.head+r.n)&(len(r.units)-1)] = *u
	r.n++
}

func (r *ring) take() uint64 {
	u := r.units[r.head]
	r.head = (r.head + 1) & (len(r.units) - 1)
	r.n--
	return u.ID
}

type linked struct{ l *list.List }

func (l linked) push(u *work.Unit) { l.l.PushBack(*u) }
func (l linked) take() uint64      { return l.l.Remove(l.l.Front()).(work.Unit).ID }

// nothing keeps no units: what it measures is the machine and the benchmark.
type nothing struct{}

func (nothing) push(*work.Unit) {}
func (nothing) take() uint64    { return 0 }

// unitSource makes units whose deadlines are in no order.
type unitSource struct {
	rnd  draw.Rand
	unit work.Unit
}

// next returns a unit that is overwritten by the next call.
func (s *unitSource) next() *work.Unit {
	r := s.rnd.Uint64()
	u := &s.unit
	u.ID++
	u.Request, u.Deadline, u.Class, u.Attempt = u.ID, 1+work.Instant(r>>24), uint8(r&3), 1
	return u
}

var benchClasses = []work.Class{{Criticality: 0}, {Criticality: 1}, {Criticality: 2}, {Criticality: 3}}

func discipline(t interface{ Fatal(...any) }, text string) Discipline {
	d, err := ParseDiscipline(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func BenchmarkPushTake(b *testing.B) {
	for _, depth := range []int{1, 1_000, 300_000} {
		run := func(name string, make func() line) {
			b.Run(fmt.Sprintf("depth=%d/%s", depth, name), func(b *testing.B) {
				q, source := make(), new(unitSource)
				for range depth {
					q.push(source.next())
				}
				b.ReportAllocs()
				for b.Loop() {
					q.push(source.next())
					q.take()
				}
			})
		}
		run("peer-nothing", func() line { return nothing{} })
		run("peer-ring", func() line { return new(ring) })
		run("peer-container-list", func() line { return linked{list.New()} })
		for _, text := range []string{
			"fifo", "lifo", "fifo+expired", "fifo+deadline(0s)", "fifo+deadline(auto)", "fifo+codel", "fifo+controlled-delay",
			"lifo+deadline(0s)", "adaptive-lifo", "adaptive-lifo+controlled-delay", "lifo+evict(1000000)",
			"edf", "edf+deadline(0s)", "priority",
		} {
			d := discipline(b, text)
			run(text, func() line { return ours{New(Config{Discipline: d, Workers: 4, Classes: benchClasses})} })
		}
	}
}

// BenchmarkDropExpired measures what a unit of an expired prefix costs: one
// operation is one dropped unit.
func BenchmarkDropExpired(b *testing.B) {
	const prefix = 300_000
	for _, text := range []string{"fifo+expired", "fifo+deadline", "lifo+deadline", "fifo+deadline(auto)", "adaptive-lifo+controlled-delay"} {
		b.Run(text, func(b *testing.B) {
			q := New(Config{Discipline: discipline(b, text), Workers: 4})
			var id uint64
			dropped := 0
			count := func(work.Unit, work.Reason) { dropped++ }
			for left := b.N; left > 0; left -= prefix {
				b.StopTimer()
				for range min(left, prefix) {
					id++
					q.Push(work.Unit{ID: id, Deadline: work.Instant(time.Second)}, 0, count)
				}
				b.StartTimer()
				q.Take(work.Instant(2*time.Second), count)
			}
			if dropped != b.N {
				b.Fatalf("dropped %d of %d", dropped, b.N)
			}
		})
	}
}

// BenchmarkGrowth pushes up to ten million units and reports the longest single
// push, by the thread's processor time and by the clock (peer-nothing shows how
// long others kept the processor from it), then takes them and reports the memory
// that stays.
func BenchmarkGrowth(b *testing.B) {
	run := func(name string, units int, make func() line) {
		b.Run(fmt.Sprintf("units=%d/%s", units, name), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var worst, worstCPU time.Duration
			var full, drained uint64
			for b.Loop() {
				empty := heapInUse()
				q, source := make(), new(unitSource)
				before, beforeCPU := time.Now(), threadTime()
				for range units {
					q.push(source.next())
					now, cpu := time.Now(), threadTime()
					worst, worstCPU = max(worst, now.Sub(before)), max(worstCPU, cpu-beforeCPU)
					before, beforeCPU = now, cpu
				}
				full = max(full, heapInUse()-empty)
				for range units {
					q.take()
				}
				drained = heapInUse()
				drained -= min(drained, empty)
				runtime.KeepAlive(q)
			}
			b.ReportMetric(float64(worstCPU.Microseconds())/1000, "worst-push-cpu-ms")
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-push-ms")
			b.ReportMetric(float64(full)/float64(units), "B/unit-full")
			b.ReportMetric(float64(drained)/1024, "KiB-kept")
		})
	}
	const most = 10_000_000
	run("peer-nothing", most, func() line { return nothing{} })
	run("peer-ring", most, func() line { return new(ring) })
	for text, units := range map[string]int{"fifo": most, "lifo": most, "edf": most / 10} {
		d := discipline(b, text)
		run(text, units, func() line { return ours{New(Config{Discipline: d})} })
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRemove takes units from the middle of a long queue, as a client that
// leaves does, and puts new ones on its end.
func BenchmarkRemove(b *testing.B) {
	for _, depth := range []int{1_000, 300_000} {
		b.Run("depth="+strconv.Itoa(depth), func(b *testing.B) {
			q := New(Config{})
			var source unitSource
			ids := make([]uint64, depth)
			for i := range ids {
				u := source.next()
				q.Push(*u, 0, ignore)
				ids[i] = u.ID
			}
			var rnd draw.Rand
			b.ReportAllocs()
			for b.Loop() {
				i := int(rnd.Uint64() % uint64(depth))
				if _, ok := q.Remove(ids[i]); !ok {
					b.Fatal("not there")
				}
				u := source.next()
				q.Push(*u, 0, ignore)
				ids[i] = u.ID
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	q := New(Config{})
	now := work.Instant(0)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(12500 * time.Microsecond)
		q.Observe(50*time.Millisecond, now)
	}
}
