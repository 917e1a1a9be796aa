package admit

import (
	"testing"
	"time"

	"shedload/internal/work"
)

func at(d time.Duration) work.Instant { return work.Instant(d) }

func door(t *testing.T, text string) Policy {
	t.Helper()
	s, err := ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.New(shop)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	checkout, browse, report = 0, 1, 2

	arrived  = 100 * ms
	deadline = 600 * ms
)

// Each limit at its last admission and its first refusal.
func TestBoundaries(t *testing.T) {
	four := func(queued, inService int) Load {
		return Load{Queued: queued, InService: inService, Workers: 4, Service: 50 * ms}
	}
	classes := func(perClass ...int) Load {
		l := Load{PerClass: perClass, Workers: 4}
		for _, n := range perClass {
			l.InService += n
		}
		return l
	}
	wait := func(reason work.Reason, until time.Duration) Verdict {
		return Verdict{Reason: reason, WaitUntil: at(until)}
	}
	no := func(reason work.Reason) Verdict { return Verdict{Reason: reason} }
	yes := Verdict{}
	for _, c := range []struct {
		door  string
		class uint8
		load  Load
		now   time.Duration
		want  Verdict
	}{
		{"open", 0, four(1_000_000, 4), arrived, yes},

		{"queue_limit:60", 0, four(59, 4), arrived, yes},
		{"queue_limit:60", 0, four(60, 0), arrived, no(work.QueueFull)},

		{"in_system:20", 0, four(19, 0), arrived, yes},
		{"in_system:20", 0, four(19, 1), arrived, no(work.InSystem)},

		{"concurrency:4", 0, four(0, 3), arrived, yes},
		{"concurrency:4", 0, four(0, 4), arrived, no(work.Concurrency)},
		{"concurrency:4,wait=10ms", 0, four(0, 4), arrived, wait(work.Concurrency, 110*ms)},
		{"concurrency:4,wait=10ms", 0, four(0, 4), 110*ms - 1, wait(work.Concurrency, 110*ms)},
		{"concurrency:4,wait=10ms", 0, four(0, 4), 110 * ms, no(work.Concurrency)},
		{"concurrency:4,wait=10ms", 0, four(0, 3), 110 * ms, yes},
		// A wait never goes past the deadline.
		{"concurrency:4,wait=10s", 0, four(0, 4), arrived, wait(work.Concurrency, deadline)},

		// Retry storms: queue length below 40 for the critical, below 20 for others.
		{"priority:40,browse=20", checkout, four(39, 4), arrived, yes},
		{"priority:40,browse=20", checkout, four(40, 0), arrived, no(work.Priority)},
		{"priority:40,browse=20", browse, four(19, 4), arrived, yes},
		{"priority:40,browse=20", browse, four(20, 4), arrived, no(work.Priority)},
		{"priority:40,sheddable=0.5,report=10", report, four(10, 4), arrived, no(work.Priority)},
		{"priority:40,sheddable=0.5,report=10", browse, four(19, 4), arrived, yes},
		{"priority:40,sheddable=0.5,report=10", browse, four(20, 4), arrived, no(work.Priority)},
		// Bulkheads: limit 5, best effort 3, of what is in flight.
		{"priority:5,sheddable=3,count=in_system", browse, four(0, 2), arrived, yes},
		{"priority:5,sheddable=3,count=in_system", browse, four(0, 3), arrived, no(work.Priority)},
		{"priority:5,sheddable=3,count=in_system", checkout, four(0, 3), arrived, yes},
		{"priority:5,sheddable=3,count=in_system", checkout, four(1, 4), arrived, no(work.Priority)},

		{"bulkheads:2,reports=1", checkout, classes(1, 9, 9), arrived, yes},
		{"bulkheads:2,reports=1", checkout, classes(2, 0, 0), arrived, no(work.Bulkhead)},
		{"bulkheads:2,reports=1", report, classes(0, 0, 1), arrived, no(work.Bulkhead)},
		{"bulkheads:2,wait=20ms", browse, classes(9, 2, 9), arrived, wait(work.Bulkhead, 120*ms)},
		{"bulkheads:2,wait=20ms", browse, classes(9, 2, 9), 120 * ms, no(work.Bulkhead)},
		{"bulkheads:2,wait=20ms", browse, Load{}, arrived, yes},

		// 500 ms are left: 36 ahead of the next free worker take 450 ms, then 50 ms.
		{"infeasible", 0, four(35, 4), arrived, yes},
		{"infeasible", 0, four(36, 4), arrived, no(work.Infeasible)},
		{"infeasible", 0, four(35, 4), arrived + 1, no(work.Infeasible)},
		{"infeasible", 0, four(0, 3), deadline, yes}, // a free worker: nothing to predict
		{"infeasible", 0, Load{Queued: 1000, InService: 4, Workers: 4}, arrived, yes},
		{"infeasible", 0, Load{Queued: 1000, Service: 50 * ms}, arrived, yes},

		{"queue_limit:60+infeasible", 0, four(36, 4), arrived, no(work.Infeasible)},
		{"queue_limit:36+infeasible", 0, four(36, 4), arrived, no(work.QueueFull)},
		{"queue_limit:60+infeasible", 0, four(35, 4), arrived, yes},
	} {
		u := work.Unit{Class: c.class, Enqueued: at(arrived), Deadline: at(deadline)}
		got := door(t, c.door).Admit(u, c.load, at(c.now))
		if got != c.want {
			t.Errorf("%s, class %d, %+v at %s: %+v, want %+v", c.door, c.class, c.load, c.now, got, c.want)
		}
		if got.Admitted() != (c.want == Verdict{}) {
			t.Errorf("%s: %+v says admitted: %v", c.door, got, got.Admitted())
		}
	}
}

// Units of classes without a compartment share one.
func TestNoCompartmentIsShared(t *testing.T) {
	classes := []work.Class{{Name: "a"}, {Name: "b"}}
	p, err := Spec{Kind: Bulkheads, Limit: 3}.New(classes)
	if err != nil {
		t.Fatal(err)
	}
	u := work.Unit{Class: 0}
	if v := p.Admit(u, Load{PerClass: []int{1, 1}}, 0); !v.Admitted() {
		t.Errorf("two of three: %+v", v)
	}
	if v := p.Admit(u, Load{PerClass: []int{1, 2}}, 0); v.Reason != work.Bulkhead {
		t.Errorf("three of three: %+v", v)
	}
}

// An infeasible door whose estimate has gone wrong, here because a dependency hung
// for a minute, must not refuse everything for ever: while a worker is free it
// admits, and each admission brings a new sample.
func TestInfeasibleCannotLockItselfIn(t *testing.T) {
	p := door(t, "infeasible")
	u := work.Unit{Enqueued: at(arrived), Deadline: at(deadline)}
	if v := p.Admit(u, Load{InService: 3, Workers: 4, Service: time.Minute}, at(arrived)); !v.Admitted() {
		t.Errorf("with a free worker: %+v", v)
	}
	if v := p.Admit(u, Load{InService: 4, Workers: 4, Service: time.Minute}, at(arrived)); v.Reason != work.Infeasible {
		t.Errorf("with none: %+v", v)
	}
}

func TestNoDeadlineIsAlwaysFeasible(t *testing.T) {
	u := work.Unit{Deadline: work.Never}
	if v := door(t, "infeasible").Admit(u, Load{Queued: 1e6, InService: 4, Workers: 4, Service: time.Second}, 0); !v.Admitted() {
		t.Errorf("refused with %+v", v)
	}
}

func TestLimitIsShown(t *testing.T) {
	for text, want := range map[string]int{
		"queue_limit:60": 60, "in_system:20": 20, "concurrency:4,wait=10ms": 4, "priority:40,browse=20": 40,
		"priority:5,checkout=9": 9, "queue_limit:60+infeasible+in_system:50": 50, "aimd:8": 0,
	} {
		limiter, ok := door(t, text).(Limiter)
		if !ok {
			t.Errorf("%s shows no limit", text)
			continue
		}
		if got := limiter.Limit(0); got != want {
			t.Errorf("%s shows %d, want %d", text, got, want)
		}
	}
	if _, ok := door(t, "open").(Limiter); ok {
		t.Error("an open door shows a limit")
	}
}
