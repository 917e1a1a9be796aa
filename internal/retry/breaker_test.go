package retry

import (
	"testing"

	"shedload/internal/draw"
	"shedload/internal/work"
)

func TestBreaker(t *testing.T) {
	spec := GateSpec{Kind: CircuitBreaker, MinRequests: new(4), Probes: new(2)}
	g := gate(t, spec)
	state := func(now int64) BreakerState { return Gates{g}.Gauges(at(now)).Breaker }
	results := func(sent, now int64, rs ...work.Result) {
		for _, r := range rs {
			g.Observe(at(now), first(at(sent)), r)
		}
	}
	results(0, 1, failed, failed, failed)
	if state(1) != BreakerClosed {
		t.Error("opened below its minimum of results")
	}
	results(0, 2, ok, ok, ok)
	if state(2) != BreakerOpen {
		t.Error("3 failures of 4 results do not open it")
	}
	if granted(g, 5, at(5001), first(at(5001))) != 0 {
		t.Error("lets a try through while open")
	}
	if granted(g, 5, at(5002), first(at(5002))) != 2 || state(5002) != BreakerHalfOpen {
		t.Error("after 5 s two probes are let through")
	}
	results(4, 5003, failed, failed, failed)
	if state(5003) != BreakerHalfOpen {
		t.Error("an old try's failure is no probe's")
	}
	results(5002, 5004, ok)
	g.Observe(at(5004), first(at(5002)), work.Result{}) // another gate refused the second probe
	if granted(g, 5, at(5005), first(at(5005))) != 1 {
		t.Error("a probe that never left makes room for another")
	}
	results(5005, 5006, ok)
	if state(5006) != BreakerClosed || granted(g, 100, at(5006), first(at(5006))) != 100 {
		t.Error("two probes that succeed close it")
	}
	results(5006, 5007, refused, refused, work.Result{Outcome: work.TimedOut})
	if state(5007) != BreakerClosed {
		t.Error("what came before it opened still counts")
	}
	results(5006, 5007, ok)
	granted(g, 1, at(10_007), first(at(10_007)))
	results(10_007, 10_008, failed)
	if state(10_008) != BreakerOpen || state(15_008) != BreakerHalfOpen {
		t.Error("a probe that fails opens it again")
	}
}

func TestThrottle(t *testing.T) {
	g := gate(t, GateSpec{Kind: AdaptiveThrottle})
	p := func(now int64) float64 { return Gates{g}.Gauges(at(now)).Throttle }
	if granted(g, 1, 0, first(0)) != 1 {
		t.Error("the first try of all is sent")
	}
	g.Observe(0, first(0), failed)
	if p(0) != 0 {
		t.Errorf("probability %v after 1 of 1 accepted", p(0))
	}
	granted(g, 9, 0, first(0))
	if got, want := p(0), 8.0/11; got != want {
		t.Errorf("probability %v after 10 requests and 1 accept, want (10-2)/11", got)
	}
	if p(121_000) != 0 {
		t.Error("forgets after two minutes")
	}
	if granted(g, 1, 0, scheduled(Timeout)) != 1 {
		t.Error("answers when a try is sent, not when it is scheduled")
	}
}

// The share of tries that are sent to a dead server falls towards the formula's.
func TestThrottleRejectsAsOftenAsItSays(t *testing.T) {
	g := gate(t, GateSpec{Kind: AdaptiveThrottle})
	sent, expected := 0, 0.0
	for n := range uint64(10_000) {
		expected += 1 - float64(n)/float64(n+1)
		if g.Allow(0, first(0), draw.Seed(3).For(draw.Key{Purpose: draw.Throttle, Request: n})) {
			sent++
		}
	}
	if float64(sent) < expected/2 || float64(sent) > expected*2 {
		t.Errorf("%d tries sent, the formula expects %.1f", sent, expected)
	}
}
