package retry

import (
	"testing"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

func gate(t testing.TB, g GateSpec) Gate {
	t.Helper()
	built, err := g.New()
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// first and again are asks for a request's first try and for a retry.
func first(now work.Instant) Ask { return Ask{Attempt: 1, When: Sent, Sent: now} }

func again(now work.Instant, c Cause) Ask { return Ask{Attempt: 2, When: Sent, Cause: c, Sent: now} }

func scheduled(c Cause) Ask { return Ask{Attempt: 2, When: Scheduled, Cause: c} }

// granted asks n times and returns how often the answer was yes.
func granted(g Gate, n int, now work.Instant, a Ask) int {
	yes := 0
	for range n {
		if g.Allow(now, a, draw.Rand{}) {
			yes++
		}
	}
	return yes
}

func balance(g Gate, now work.Instant) Thousandths { return Gates{g}.Gauges(now).Balance }

// Trap: "A budget that loads, compares, then adds: two callers both pass." Two calls
// fail in the same instant, and both are told to pause before either is sent; the one
// token goes to one of them, whenever it is charged.
func TestTrapBudgetTwoCallers(t *testing.T) {
	for _, charge := range []Charge{ChargeSend, ChargeSchedule} {
		for _, spec := range []GateSpec{
			{Kind: TokenBucket, Charge: &charge, Initial: new(One), Earn: new(Thousandths(0))},
			{Kind: Ratio, Charge: &charge, Ratio: new(One / 2)},
			{Kind: SlidingWindow, Charge: &charge, Ratio: new(One / 2)},
			{Kind: Concurrency, Charge: &charge, AtLeast: new(1), Ratio: new(Thousandths(0))},
		} {
			p := policy(t, Spec{Attempts: 2, Backoff: BackoffSpec{Kind: FixedBackoff, Base: 10 * ms}}, 500*ms, 0, spec)
			a, b := p.Call(0), p.Call(0)
			for _, c := range []*Call{&a, &b} {
				c.Step(0, Input{Kind: Begin}, draw.Rand{})
			}
			kinds := map[CommandKind]int{}
			for _, c := range []*Call{&a, &b} {
				if cmd := c.Step(at(1), Input{Kind: Reply, Result: refused}, draw.Rand{}); cmd.Kind == Stop {
					kinds[Stop]++
				}
			}
			for _, c := range []*Call{&a, &b} {
				kinds[c.Step(at(11), Input{Kind: Woke}, draw.Rand{}).Kind]++
			}
			if kinds[Send] != 1 || kinds[Stop] != 1 {
				t.Errorf("%s charged at %s: %d sent and %d stopped, want one each", spec.Kind, charge, kinds[Send], kinds[Stop])
			}
		}
	}
}

func TestTokenBucket(t *testing.T) {
	g := gate(t, GateSpec{Kind: TokenBucket, Capacity: new(2 * One), Initial: new(Thousandths(0)), Earn: new(One / 10)})
	if got := granted(g, 9, 0, first(0)); got != 9 {
		t.Errorf("%d of 9 first tries granted: a budget never refuses them", got)
	}
	if got := granted(g, 1, 0, again(0, Timeout)); got != 0 {
		t.Error("a retry for 0.9 tokens")
	}
	granted(g, 1, 0, first(0))
	if b := balance(g, 0); b != One {
		t.Errorf("ten requests earned %s tokens, want 1", b)
	}
	if got := granted(g, 2, 0, again(0, Timeout)); got != 1 {
		t.Errorf("%d retries for 1 token", got)
	}
	granted(g, 1000, 0, first(0))
	if got := granted(g, 5, 0, again(0, Refusal)); got != 2 {
		t.Errorf("%d retries from a full bucket of 2", got)
	}
}

func TestChargeMoments(t *testing.T) {
	for _, c := range []struct {
		charge              Charge
		afterPlan, afterAll Thousandths
	}{{ChargeSend, 2 * One, One}, {ChargeSchedule, One, One}} {
		g := gate(t, GateSpec{Kind: TokenBucket, Charge: &c.charge, Capacity: new(2 * One)})
		g.Allow(0, scheduled(Timeout), draw.Rand{})
		planned := balance(g, 0)
		g.Allow(0, again(0, Timeout), draw.Rand{})
		if sent := balance(g, 0); planned != c.afterPlan || sent != c.afterAll {
			t.Errorf("%s: %s when scheduled, %s when sent; want %s, %s", c.charge, planned, sent, c.afterPlan, c.afterAll)
		}
	}
}

func TestRatioCountsAllRequests(t *testing.T) {
	g := gate(t, GateSpec{Kind: Ratio, AtLeast: new(1)})
	for _, c := range []struct{ requests, want int }{{0, 1}, {19, 0}, {1, 1}, {100, 10}} {
		granted(g, c.requests, at(1_000_000), first(0))
		if got := granted(g, 50, at(1_000_000), again(0, Timeout)); got != c.want {
			t.Errorf("after %d more requests: %d retries, want %d", c.requests, got, c.want)
		}
	}
}

func TestSRE10(t *testing.T) {
	g := gate(t, GateSpec{Kind: SRE10})
	granted(g, 99, at(0), first(0))
	if got := granted(g, 100, at(60_000), again(0, Timeout)); got != 9 {
		t.Errorf("%d retries for 99 requests, want 9", got)
	}
	// At 121 s the requests have left the window and the retries have not.
	granted(g, 100, at(121_000), first(0))
	if got := granted(g, 100, at(121_000), again(0, Timeout)); got != 1 {
		t.Errorf("%d retries, want 10 for the new requests less 9 of a minute ago", got)
	}
}

func TestFinagle(t *testing.T) {
	g := gate(t, GateSpec{Kind: Finagle})
	if got := granted(g, 200, 0, scheduled(Timeout)); got != 100 {
		t.Errorf("%d retries without a request, want the reserve of 10 a second for 10 s", got)
	}
	granted(g, 50, at(1), first(0))
	if got := granted(g, 200, at(1), scheduled(Timeout)); got != 10 {
		t.Errorf("%d retries for 50 requests, want 20 %%", got)
	}
	if got := granted(g, 200, at(20_000), scheduled(Timeout)); got != 100 {
		t.Errorf("%d retries after 20 s, want the reserve alone", got)
	}
}

func TestDotnet(t *testing.T) {
	g := gate(t, GateSpec{Kind: Dotnet})
	granted(g, 9, 0, first(0))
	if got := granted(g, 30, 0, scheduled(Timeout)); got != 30 {
		t.Errorf("%d of 30 retries below ten requests, want all", got)
	}
	g = gate(t, GateSpec{Kind: Dotnet})
	granted(g, 10, 0, first(0))
	if got := granted(g, 30, 0, scheduled(Timeout)); got != 1 {
		t.Errorf("%d retries for 10 requests, want 1", got)
	}
	granted(g, 29, 0, first(0))
	if got := granted(g, 30, 0, scheduled(Timeout)); got != 2 {
		t.Errorf("%d more retries for 39 requests, want 3 in all", got)
	}
}

func TestEnvoy(t *testing.T) {
	g := gate(t, GateSpec{Kind: Envoy})
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 3 {
		t.Errorf("%d concurrent retries with nothing under way, want 3", got)
	}
	granted(g, 30, 0, first(0))
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 3 {
		t.Errorf("%d further ones with 30 under way, want 6 in all", got)
	}
	g.Allow(0, again(0, Refusal), draw.Rand{}) // one of them leaves ...
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 0 {
		t.Error("a retry that is sent makes no room")
	}
	g.Observe(0, again(0, Refusal), failed) // ... and ends
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 1 {
		t.Errorf("%d retries in the place of the one that ended, want 1", got)
	}
	g.Observe(0, scheduled(Refusal), work.Result{})
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 1 {
		t.Errorf("%d retries in the place of one that never left, want 1", got)
	}
	for range 30 {
		g.Observe(0, first(0), ok)
	}
	if b := balance(g, 0); b != -3*One {
		t.Errorf("balance %s, want -3: six retries under way, three allowed", b)
	}
}

// gRFC A6: 10 tokens, a failure takes 1, a success brings 0.1, retries above 5.
func TestGRPC(t *testing.T) {
	g := gate(t, GateSpec{Kind: GRPC})
	fail := func(n int) {
		for range n {
			g.Observe(0, first(0), failed)
		}
	}
	fail(4)
	if granted(g, 2, 0, scheduled(Error)) != 2 {
		t.Error("6 tokens: a retry is allowed and takes none")
	}
	fail(1)
	if granted(g, 1, 0, scheduled(Error)) != 0 {
		t.Error("5 tokens: half is not more than half")
	}
	g.Observe(0, first(0), ok)
	if granted(g, 1, 0, scheduled(Error)) != 1 {
		t.Error("5.1 tokens: a retry is allowed")
	}
	fail(100)
	if b := balance(g, 0); b != -5*One {
		t.Errorf("balance %s, want 5 below the threshold: no less than 0 tokens", b)
	}
	for range 1000 {
		g.Observe(0, again(0, Error), ok)
	}
	if b := balance(g, 0); b != 5*One {
		t.Errorf("balance %s, want 5 above the threshold: no more than 10 tokens", b)
	}
}

func TestAWS(t *testing.T) {
	g := gate(t, GateSpec{Kind: AWS})
	if got := granted(g, 100, 0, scheduled(Timeout)); got != 35 {
		t.Errorf("%d retries after time-outs from 500 tokens, want 35 of 14", got)
	}
	if got := granted(g, 100, 0, scheduled(Refusal)); got != 2 {
		t.Errorf("%d retries after refusals from 10 tokens, want 2 of 5", got)
	}
	g.Observe(0, again(0, Timeout), ok)
	if b := balance(g, 0); b != 14*One {
		t.Errorf("a retry that succeeds brings back %s, want 14", b)
	}
	g.Observe(0, again(0, Refusal), ok)
	g.Observe(0, first(0), ok)
	g.Observe(0, again(0, Refusal), failed)
	g.Observe(0, first(0), failed)
	if b := balance(g, 0); b != 20*One {
		t.Errorf("balance %s, want 14 + 5 + 1", b)
	}
}

// A later gate's refusal gives back what the earlier ones granted, and a retry that
// is refused when sent gives back what was charged when it was scheduled.
func TestWhatIsNotUsedIsGivenBack(t *testing.T) {
	early := GateSpec{Kind: TokenBucket, Charge: new(ChargeSchedule)}
	late := GateSpec{Kind: TokenBucket}
	never := GateSpec{Kind: TokenBucket, Initial: new(Thousandths(0)), Earn: new(Thousandths(0))}
	p := policy(t, Spec{Attempts: 3}, 500*ms, 0, early, late, never)
	play(t, p, send(500), woke(500, wait(500)), woke(500, stop(GateRefused)))
	for i, want := range []Thousandths{10 * One, 10 * One, 0} {
		if b := balance(p.gates[i], 0); b != want {
			t.Errorf("gate %d: balance %s, want %s", i, b, want)
		}
	}
	for _, charge := range []Charge{ChargeSend, ChargeSchedule} {
		g := Gates{gate(t, GateSpec{Kind: Ratio, Charge: &charge, AtLeast: new(2)}), gate(t, never)}
		if g.Allow(0, again(0, Timeout), draw.Rand{}) {
			t.Error("an empty bucket lets a retry through")
		}
		if b := balance(g[0], 0); b != 2*One {
			t.Errorf("a ratio charged at %s keeps what was not used: balance %s", charge, b)
		}
	}
	g := Gates{gate(t, early), gate(t, GateSpec{Kind: Ratio, Charge: new(ChargeSchedule), AtLeast: new(2)})}
	g.Allow(0, scheduled(Timeout), draw.Rand{})
	g.Observe(0, scheduled(Timeout), work.Result{})
	for i, want := range []Thousandths{10 * One, 2 * One} {
		if b := balance(g[i], 0); b != want {
			t.Errorf("gate %d keeps what was scheduled and never sent: balance %s, want %s", i, b, want)
		}
	}
}

func TestGauges(t *testing.T) {
	p := policy(t, Spec{}, 500*ms, 0,
		GateSpec{Kind: TokenBucket}, GateSpec{Kind: SRE10}, GateSpec{Kind: AdaptiveThrottle},
		GateSpec{Kind: CircuitBreaker, MinRequests: new(3)})
	if g := p.Gauges(0); g != (Gauges{Budgets: 2, Breakers: 1}) {
		t.Errorf("at first %+v", g)
	}
	for range 3 {
		play(t, p, send(500), reply(0, failed, stop(OutOfAttempts)))
	}
	if g, want := p.Gauges(at(1)), (Gauges{Budgets: 2, Breakers: 1, Breaker: BreakerOpen, At: at(1)}); g != want {
		t.Errorf("after three failures %+v, want %+v", g, want)
	}
	if g := policy(t, Spec{}, 500*ms, 0).Gauges(0); g != (Gauges{}) {
		t.Errorf("without gates %+v", g)
	}
}

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

func TestWindowForgets(t *testing.T) {
	w := newWindow(time.Minute)
	for second := range int64(200) {
		w.add(at(second*1000), int(second%2), 1)
		n := min(second+1, windowSlices)
		if got := w.sum[0] + w.sum[1]; got != n {
			t.Fatalf("at %d s: %d counted, want the last %d", second, got, n)
		}
	}
	w.add(at(150_000), 0, 1) // an instant before the last counts as the last
	if w.sum[0]+w.sum[1] != windowSlices+1 {
		t.Error("time went backwards and something was forgotten")
	}
	w.roll(at(1_000_000))
	if w.sum != [2]int64{} {
		t.Errorf("%v left after a long silence", w.sum)
	}
}
