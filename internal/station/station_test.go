package station

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/admit"
	"shedload/internal/ledger"
	"shedload/internal/queue"
	"shedload/internal/work"
)

const ms = work.Instant(time.Millisecond)

// host notes how each unit ended.
type host struct{ ended map[uint64][]work.Result }

func (h *host) Ended(u work.Unit, r work.Result) { h.ended[u.ID] = append(h.ended[u.ID], r) }

type rig struct {
	*Station
	host   host
	ledger *ledger.Ledger
	kinds  []ledger.Kind
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	r := &rig{host: host{map[uint64][]work.Result{}}, ledger: ledger.New(ledger.Config{})}
	s, err := New(c, &r.host, func(e ledger.Event) { r.ledger.Record(e); r.kinds = append(r.kinds, e.Kind) })
	if err != nil {
		t.Fatal(err)
	}
	r.Station = s
	return r
}

func (r *rig) arrive(id uint64, now work.Instant, patience time.Duration) {
	r.Arrive(work.Unit{ID: id, Request: id, Attempt: 1, Enqueued: now, Deadline: now.Add(patience)}, now)
}

// end returns how a unit ended; it fails unless that happened exactly once.
func (r *rig) end(t *testing.T, id uint64) work.Result {
	t.Helper()
	if len(r.host.ended[id]) != 1 {
		t.Fatalf("unit %d ended %d times: %v", id, len(r.host.ended[id]), r.host.ended[id])
	}
	return r.host.ended[id][0]
}

func discipline(t testing.TB, text string) queue.Config {
	t.Helper()
	d, err := queue.ParseDiscipline(text)
	if err != nil {
		t.Fatal(err)
	}
	return queue.Config{Discipline: d}
}

func door(t testing.TB, text string) admit.Spec {
	t.Helper()
	var s admit.Spec
	if err := s.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAUnitIsServed(t *testing.T) {
	r := newRig(t, Config{Queue: discipline(t, "fifo")})
	r.arrive(1, 0, time.Second)
	if u, ok := r.Take(5 * ms); !ok || u.ID != 1 {
		t.Fatalf("took %v %v", u, ok)
	}
	if !r.Finish(1, Done{Work: 50 * time.Millisecond, OK: true}, 55*ms) {
		t.Fatal("the worker had it")
	}
	if got := r.end(t, 1); got != (work.Result{Outcome: work.Succeeded}) {
		t.Errorf("ended %+v", got)
	}
	if want := []ledger.Kind{ledger.Arrived, ledger.Queued, ledger.Started, ledger.Finished}; !slices.Equal(r.kinds, want) {
		t.Errorf("events %v, want %v", r.kinds, want)
	}
	if totals := r.ledger.Totals(); totals.OnTime != 1 || totals.Work != 50*time.Millisecond {
		t.Errorf("totals %+v", totals)
	}
}

func TestOnTimeIncludesTheDeadline(t *testing.T) {
	r := newRig(t, Config{Queue: discipline(t, "fifo")})
	r.arrive(1, 0, 100*time.Millisecond)
	r.arrive(2, 0, 100*time.Millisecond)
	r.Take(0)
	r.Take(0)
	r.Finish(1, Done{OK: true}, 100*ms)
	r.Finish(2, Done{OK: true}, 100*ms+1)
	if totals := r.ledger.Totals(); totals.OnTime != 1 || totals.Late != 1 {
		t.Errorf("on time %d, late %d; want 1 and 1", totals.OnTime, totals.Late)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		config Config
		late   bool
		want   work.Reason
	}{
		{"expired on arrival", Config{}, true, work.ExpiredOnArrival},
		{"memory guard", Config{HardLimit: 1}, false, work.HardLimit},
		{"queue limit", Config{Door: door(t, "queue_limit:1")}, false, work.QueueFull},
		{"in system", Config{Door: door(t, "in_system:1")}, false, work.InSystem},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.RetryAfter, test.config.DoNotRetry = time.Second, true
			r := newRig(t, test.config)
			r.arrive(1, 0, time.Second)
			if patience := time.Second; test.late {
				r.arrive(2, 0, 0)
			} else {
				r.arrive(2, 0, patience)
			}
			want := work.Result{Outcome: work.Refused, Reason: test.want, RetryAfter: time.Second, DoNotRetry: true}
			if got := r.end(t, 2); got != want {
				t.Errorf("ended %+v, want %+v", got, want)
			}
			if len(r.host.ended[1]) != 0 {
				t.Error("the first was turned away too")
			}
		})
	}
}

func TestWaitingAtTheDoor(t *testing.T) {
	r := newRig(t, Config{Door: door(t, "concurrency:1,wait=10ms")})
	r.arrive(1, 0, time.Second)
	r.Take(0)
	r.arrive(2, 1*ms, time.Second)
	r.arrive(3, 2*ms, time.Second)
	r.arrive(4, 2*ms, 3*time.Millisecond) // its deadline ends the wait earlier
	if at := r.NextTick(); at != 5*ms {
		t.Errorf("next tick %v, want its deadline at 5ms", at)
	}
	r.Tick(5 * ms)
	if got := r.end(t, 4); got.Reason != work.Concurrency {
		t.Errorf("4 ended %+v", got)
	}
	r.Finish(1, Done{OK: true}, 9*ms) // a place, for the one who waits longest
	if u, ok := r.Take(9 * ms); !ok || u.ID != 2 {
		t.Errorf("took %v %v, want 2", u, ok)
	}
	r.Tick(12 * ms)
	if got := r.end(t, 3); got.Outcome != work.Refused || got.Reason != work.Concurrency {
		t.Errorf("3 ended %+v", got)
	}
	if l := r.Load(); l.Door != 0 || l.InService != 1 || l.Queued != 0 {
		t.Errorf("load %+v", l)
	}
}

func TestAWorkerThatNeverReports(t *testing.T) {
	r := newRig(t, Config{LeaseTimeout: 10 * time.Second})
	r.arrive(1, 0, time.Second)
	r.Take(0)
	if at := r.NextTick(); at != work.Instant(10*time.Second) {
		t.Errorf("next tick %v", at)
	}
	r.Tick(work.Instant(10 * time.Second))
	if got := r.end(t, 1); got.Outcome != work.Failed || got.Reason != work.LostUnit {
		t.Errorf("ended %+v", got)
	}
	for range 2 { // it reports after all, twice: its work is wasted once
		if r.Finish(1, Done{Work: time.Second, OK: true}, work.Instant(11*time.Second)) {
			t.Error("a lost unit finished")
		}
	}
	if totals := r.ledger.Totals(); totals.Lost != 1 || totals.Stale != 1 || totals.Wasted != time.Second {
		t.Errorf("totals %+v", totals)
	}
	r.end(t, 1)
}

func TestTheClientLeaves(t *testing.T) {
	r := newRig(t, Config{})
	r.arrive(1, 0, time.Second)
	r.arrive(2, 0, time.Second)
	r.Take(0)
	if r.Leave(1, ms) {
		t.Error("a unit in service was freed")
	}
	if !r.Leave(2, ms) || r.Leave(2, ms) {
		t.Error("a queued unit is freed once")
	}
	if totals := r.ledger.Totals(); totals.Canceled != 1 || r.ledger.Pending() != 1 {
		t.Errorf("canceled %d, pending %d", totals.Canceled, r.ledger.Pending())
	}
}

func TestCloseAccountsForEverything(t *testing.T) {
	r := newRig(t, Config{Door: door(t, "concurrency:3,wait=1s")})
	for id := uint64(1); id <= 5; id++ {
		r.arrive(id, 0, 10*time.Second)
	}
	r.Take(0)
	r.Close(ms)
	r.CloseService(ms)
	want := map[work.Reason]int{work.LostUnit: 1, work.Closed: 2, work.ShuttingDown: 2}
	got := map[work.Reason]int{}
	for id := uint64(1); id <= 5; id++ {
		got[r.end(t, id).Reason]++
	}
	for reason, n := range want {
		if got[reason] != n {
			t.Errorf("%v: %d, want %d", reason, got[reason], n)
		}
	}
	if n := r.ledger.Pending(); n != 0 {
		t.Errorf("%d pending", n)
	}
}

func TestConfigureKeepsTheUnits(t *testing.T) {
	r := newRig(t, Config{Queue: discipline(t, "fifo")})
	r.arrive(1, 0, time.Second)
	r.arrive(2, 0, time.Second)
	if err := r.Configure(Config{Queue: discipline(t, "lifo")}, ms); err != nil {
		t.Fatal(err)
	}
	if u, _ := r.Take(ms); u.ID != 2 {
		t.Errorf("took %d, want the newest", u.ID)
	}
	if err := r.Configure(Config{Classes: make([]work.Class, work.MaxClasses+1)}, ms); err == nil {
		t.Error("too many classes were accepted")
	}
}

// TestEachUnitEndsExactlyOnce lets everything happen in any order, under every
// kind of queue and door, and holds the ledger against the station's own count.
func TestEachUnitEndsExactlyOnce(t *testing.T) {
	disciplines := []string{"fifo", "lifo+evict", "edf+expired", "priority", "deadline", "adaptive-lifo", "lifo+codel", "adaptive-lifo+controlled-delay"}
	doors := []string{"open", "queue_limit:5", "in_system:5", "concurrency:4,wait=10ms", "infeasible", "aimd", "gradient2", "vegas"}
	rapid.Check(t, func(t *rapid.T) {
		var spec admit.Spec
		if err := spec.UnmarshalText([]byte(rapid.SampledFrom(doors).Draw(t, "door"))); err != nil {
			t.Fatal(err)
		}
		d, err := queue.ParseDiscipline(rapid.SampledFrom(disciplines).Draw(t, "discipline"))
		if err != nil {
			t.Fatal(err)
		}
		h := host{map[uint64][]work.Result{}}
		l := ledger.New(ledger.Config{})
		s, err := New(Config{Queue: queue.Config{Discipline: d, Limit: 6}, Door: spec, LeaseTimeout: 80 * time.Millisecond, Workers: 2}, &h, l.Record)
		if err != nil {
			t.Fatal(err)
		}
		next, now, taken := uint64(0), work.Instant(0), []uint64{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += work.Instant(rapid.Int64Range(0, 20).Draw(t, "dt")) * ms
			if s.NextTick() <= now {
				s.Tick(now)
			}
			switch id := rapid.Uint64Range(0, next).Draw(t, "id"); rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				next++
				s.Arrive(work.Unit{ID: next, Attempt: 1, Enqueued: now, Deadline: now + work.Instant(rapid.Int64Range(0, 100).Draw(t, "patience"))*ms}, now)
			case 2:
				if u, ok := s.Take(now); ok {
					taken = append(taken, u.ID)
				}
			case 3:
				if len(taken) > 0 {
					s.Finish(taken[0], Done{Work: 1, OK: id%7 != 0}, now)
					taken = taken[1:]
				}
			case 4:
				s.Leave(id, now)
			case 5:
				s.Lose(id, now)
			}
			load := s.Load()
			if here := int64(load.Queued + load.InService + load.Door); here != l.Pending() {
				t.Fatalf("the station holds %d, the ledger says %d", here, l.Pending())
			}
		}
		s.Close(now)
		s.CloseService(now)
		for id := uint64(1); id <= next; id++ {
			if len(h.ended[id]) != 1 {
				t.Fatalf("unit %d ended %d times", id, len(h.ended[id]))
			}
		}
		if l.Pending() != 0 || s.NextTick() != work.Never {
			t.Fatalf("pending %d, next tick %v", l.Pending(), s.NextTick())
		}
	})
}

func BenchmarkArriveTakeFinish(b *testing.B) {
	h := nobody{}
	s, err := New(Config{Queue: discipline(b, "fifo")}, h, func(ledger.Event) {})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		now := work.Instant(i)
		s.Arrive(work.Unit{ID: uint64(i + 1), Enqueued: now, Deadline: math.MaxInt64}, now)
		u, _ := s.Take(now)
		s.Finish(u.ID, Done{OK: true}, now)
	}
}

type nobody struct{}

func (nobody) Ended(work.Unit, work.Result) {}
