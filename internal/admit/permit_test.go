package admit

import (
	"slices"
	"testing"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// The door's waiting room in small: 100,000 units arrive, wait, are admitted, end,
// leave, or run out of time, and whatever the order, the limit is never exceeded,
// and at the end nothing is in flight and the whole limit can be had again.
func TestALimiterThatLosesAPermitWhenATimeoutRacesAHandOver(t *testing.T) {
	const limit = 4
	p := door(t, "concurrency:4,wait=10ms")
	rnd := draw.Seed(1).For(draw.Key{})
	var inFlight, waiting []work.Unit
	now := work.Instant(0)
	ask := func(u work.Unit) Verdict { return p.Admit(u, Load{InService: len(inFlight), Workers: 4}, now) }
	askWaiting := func() {
		waiting = slices.DeleteFunc(waiting, func(u work.Unit) bool {
			v := ask(u)
			if v.Admitted() {
				inFlight = append(inFlight, u)
			}
			return v.WaitUntil == 0
		})
	}
	end := func(list *[]work.Unit) {
		if len(*list) > 0 {
			i := int(rnd.Below(uint64(len(*list))))
			*list = slices.Delete(*list, i, i+1)
		}
	}
	admittedLate := 0
	for id := range uint64(100_000) {
		now = now.Add(time.Duration(rnd.Below(uint64(4 * ms))))
		switch u := (work.Unit{ID: id, Enqueued: now, Deadline: now.Add(time.Second)}); rnd.Below(4) {
		case 0, 1:
			if v := ask(u); v.Admitted() {
				inFlight = append(inFlight, u)
			} else if v.WaitUntil != 0 {
				waiting = append(waiting, u)
			}
		case 2:
			end(&inFlight) // finished, or its client left
		case 3:
			end(&waiting) // its client left
		}
		before := len(inFlight)
		askWaiting()
		admittedLate += len(inFlight) - before
		if len(inFlight) > limit {
			t.Fatalf("%d in flight, the limit is %d", len(inFlight), limit)
		}
		for _, u := range waiting {
			if now >= u.Enqueued.Add(10*ms) {
				t.Fatalf("unit %d has been waiting for %s", u.ID, now.Sub(u.Enqueued))
			}
		}
	}
	if admittedLate < 1000 {
		t.Errorf("only %d were handed a slot while waiting: the test is idle", admittedLate)
	}
	for len(inFlight) > 0 {
		end(&inFlight)
		waiting = nil
	}
	for range limit {
		if v := ask(work.Unit{Enqueued: now}); !v.Admitted() {
			t.Fatalf("a slot is lost: %+v with %d in flight", v, len(inFlight))
		}
		inFlight = append(inFlight, work.Unit{})
	}
}

// Forty clients at once, four slots of 50 ms, 10 ms of waiting: 4 are served, 36
// refused after their wait.
func TestFortyAtOnceInFrontOfFourSlots(t *testing.T) {
	p := door(t, "concurrency:4,wait=10ms")
	admitted, waiting := 0, 0
	for id := range uint64(40) {
		v := p.Admit(work.Unit{ID: id, Deadline: work.Never}, Load{InService: admitted, Door: waiting, Workers: 4}, 0)
		switch {
		case v.Admitted():
			admitted++
		case v.WaitUntil == at(10*ms):
			waiting++
		default:
			t.Fatalf("unit %d: %+v", id, v)
		}
	}
	v := p.Admit(work.Unit{Deadline: work.Never}, Load{InService: admitted, Workers: 4}, at(10*ms))
	if admitted != 4 || waiting != 36 || v.Reason != work.Concurrency || v.WaitUntil != 0 {
		t.Errorf("%d admitted, %d waiting, then %+v", admitted, waiting, v)
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, text := range []string{"queue_limit:60", "concurrency:4,wait=10ms", "priority:40", "bulkheads:2", "infeasible", "gradient2", "queue_limit:60+infeasible"} {
		b.Run(text, func(b *testing.B) {
			s, err := ParseSpec(text)
			if err != nil {
				b.Fatal(err)
			}
			p, err := s.New(shop)
			if err != nil {
				b.Fatal(err)
			}
			l := Load{Queued: 30, InService: 4, Workers: 4, Service: 50 * ms, PerClass: []int{10, 10, 14}}
			b.ReportAllocs()
			for range b.N {
				p.Admit(work.Unit{Deadline: at(time.Second)}, l, 0)
			}
		})
	}
}
