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
