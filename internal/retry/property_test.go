package retry

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/draw"
	"shedload/internal/work"
)

func drawSpec(t *rapid.T) Spec {
	s := Spec{
		Attempts:   rapid.IntRange(0, 6).Draw(t, "attempts"),
		On:         rapid.SliceOfNDistinct(rapid.SampledFrom([]Cause{Timeout, Refusal, Error}), 0, 3, rapid.ID).Draw(t, "on"),
		RetryAfter: rapid.SampledFrom([]RetryAfter{Honour, Ignore}).Draw(t, "retry_after"),
		Resume:     rapid.Bool().Draw(t, "resume"),
	}
	if rapid.Bool().Draw(t, "backoff") {
		s.Backoff = BackoffSpec{
			Kind:   ExponentialBackoff,
			Base:   time.Duration(rapid.IntRange(1, 400).Draw(t, "base")) * ms,
			Jitter: Jitter(rapid.IntRange(0, 3).Draw(t, "jitter")),
		}
	}
	return s
}

// storm plays many calls of one policy against a server that answers at random, in
// order of time, and hands each command to seen. It checks what holds for each call.
type storm struct {
	t      *rapid.T
	policy *Policy
	calls  []Call
	due    []work.Instant // of the next Woke; Never when over
	sends  []int
	firsts int
	// retries are the tries after the first.
	retries int
}

func newStorm(t *rapid.T, p *Policy) *storm {
	n := rapid.IntRange(1, 40).Draw(t, "calls")
	s := &storm{t: t, policy: p, sends: make([]int, n)}
	for range n {
		begin := at(int64(rapid.IntRange(0, 300).Draw(t, "begin")))
		s.calls = append(s.calls, p.Call(begin))
		s.due = append(s.due, begin)
	}
	return s
}

// run steps until all calls are over and returns the last instant.
func (s *storm) run() work.Instant {
	now := work.Instant(0)
	for {
		i := 0
		for j, d := range s.due {
			if d < s.due[i] {
				i = j
			}
		}
		if s.due[i] == work.Never {
			return now
		}
		in := Input{Kind: Woke}
		c := &s.calls[i]
		at := s.due[i]
		switch {
		case !c.Begun():
			in.Kind = Begin
		case c.Open() && rapid.Bool().Draw(s.t, "answered"):
			in = Input{Kind: Reply, Result: drawResult(s.t)}
			at = max(now, c.Intended()+(s.due[i]-c.Intended())/2)
		}
		now = max(now, at)
		s.step(i, now, in)
	}
}

func drawResult(t *rapid.T) work.Result {
	return work.Result{
		Outcome:    rapid.SampledFrom([]work.Outcome{work.Succeeded, work.Refused, work.Dropped, work.Failed, work.ClientError}).Draw(t, "outcome"),
		RetryAfter: time.Duration(rapid.IntRange(0, 500).Draw(t, "asked")) * ms,
		DoNotRetry: rapid.IntRange(0, 9).Draw(t, "do not retry") == 0,
	}
}

func (s *storm) step(i int, now work.Instant, in Input) {
	c := &s.calls[i]
	asked := work.Instant(0)
	if s.policy.spec.RetryAfter == Honour && in.Kind == Reply {
		asked = now.Add(in.Result.RetryAfter)
	}
	cmd := c.Step(now, in, draw.Seed(1).For(c.DrawKey(draw.Key{Request: uint64(i)})))
	switch cmd.Kind {
	case Nothing:
		s.t.Fatalf("call %d makes nothing of %+v at %s", i, in, now)
	case Send:
		s.sends[i]++
		if c.Tries() == 1 {
			s.firsts++
		} else {
			s.retries++
		}
		if c.Intended() >= c.limit() || cmd.At > c.limit() || cmd.At > c.Intended().Add(s.policy.patience) || cmd.At <= c.Intended() {
			s.t.Fatalf("call %d: sent at %s with deadline %s, the request's is %s", i, c.Intended(), cmd.At, c.limit())
		}
		s.due[i] = cmd.At
	case Wait:
		if cmd.At < now || cmd.At < asked || cmd.At >= c.limit() {
			s.t.Fatalf("call %d at %s waits until %s; asked for %s, deadline %s", i, now, cmd.At, asked, c.limit())
		}
		s.due[i] = cmd.At
	case Stop:
		s.due[i] = work.Never
		if s.sends[i] > int(s.policy.attempts) || s.sends[i] != c.Tries() || c.Attempts() > c.Tries() {
			s.t.Fatalf("call %d: %d sends, %d tries, %d attempts, at most %d", i, s.sends[i], c.Tries(), c.Attempts(), s.policy.attempts)
		}
		if again := c.Step(now, Input{Kind: Woke}, draw.Rand{}); again != nothing {
			s.t.Fatalf("call %d goes on after its end: %+v", i, again)
		}
	}
}

func drawPolicy(t *rapid.T, gates ...GateSpec) *Policy {
	request := time.Duration(0)
	if rapid.Bool().Draw(t, "request deadline") {
		request = time.Duration(rapid.IntRange(1, 2000).Draw(t, "request")) * ms
	}
	patience := time.Duration(rapid.IntRange(1, 500).Draw(t, "patience")) * ms
	p, err := NewPolicy(drawSpec(t), patience, request, gates)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryRequestEndsOnceAndKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.IntRange(int(AdaptiveThrottle), int(Dotnet)), 0, 4).Draw(t, "gates")
		var gates []GateSpec
		for _, k := range kinds {
			gates = append(gates, GateSpec{Kind: GateKind(k)})
		}
		newStorm(t, drawPolicy(t, gates...)).run()
	})
}

func TestBudgetsBoundRetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		charge := Charge(rapid.IntRange(int(ChargeSend), int(ChargeSchedule)).Draw(t, "charge"))
		ratio := Thousandths(rapid.IntRange(0, 1500).Draw(t, "ratio"))
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		tokens := Thousandths(burst) * One
		gate := rapid.SampledFrom([]GateSpec{
			{Kind: TokenBucket, Charge: &charge, Capacity: &tokens, Earn: &ratio},
			{Kind: Ratio, Charge: &charge, Ratio: &ratio, AtLeast: &burst},
			{Kind: SlidingWindow, Charge: &charge, Ratio: &ratio, Reserve: &burst, Window: new(time.Hour)},
		}).Draw(t, "gate")
		s := newStorm(t, drawPolicy(t, gate))
		s.run()
		if most := int64(s.firsts)*int64(ratio)/1000 + int64(burst); int64(s.retries) > most {
			t.Fatalf("%s: %d retries of %d requests at ratio %s and burst %d, at most %d", gate.Kind, s.retries, s.firsts, ratio, burst, most)
		}
	})
}

// Whatever is granted is either used or given back: once all calls are over, nothing
// is under way.
func TestGatesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gates := []GateSpec{
			{Kind: Concurrency, AtLeast: new(rapid.IntRange(0, 3).Draw(t, "at least"))},
			{Kind: Envoy},
			{Kind: TokenBucket, Initial: new(Thousandths(rapid.IntRange(0, 10_000).Draw(t, "initial")))},
			{Kind: CircuitBreaker, MinRequests: new(2), OpenFor: new(50 * ms), Probes: new(2)},
		}
		p := drawPolicy(t, gates...)
		s := newStorm(t, p)
		now := s.run()
		for _, g := range p.gates {
			switch g := g.(type) {
			case *concurrency:
				if g.underWay != 0 || g.retries != 0 {
					t.Fatalf("charged at %s: %d tries and %d retries under way when all is over", g.charge, g.underWay, g.retries)
				}
			case *breaker:
				if g.state == BreakerHalfOpen && g.underWay != 0 {
					t.Fatalf("at %s %d probes are under way when all is over", now, g.underWay)
				}
			}
		}
	})
}

// The window against a list of all instants.
func TestWindowAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.IntRange(60, 5000).Draw(t, "length")) * ms
		w := newWindow(length)
		now, all := work.Instant(0), []work.Instant{}
		for range rapid.IntRange(1, 200).Draw(t, "things") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "gap")) * ms)
			all = append(all, now)
			w.add(now, 0, 1)
			least, most := int64(0), int64(0)
			for _, then := range all {
				if age := now.Sub(then); age <= length-length/windowSlices-windowSlices {
					least++
					most++
				} else if age < length {
					most++
				}
			}
			if w.sum[0] < least || w.sum[0] > most || w.sum[1] != 0 {
				t.Fatalf("at %s a window of %s counts %v, want %d to %d", now, length, w.sum, least, most)
			}
		}
	})
}

func BenchmarkStep(b *testing.B) {
	for name, gates := range map[string][]GateSpec{
		"plain": nil, "bucket": {{Kind: TokenBucket}}, "sre10": {{Kind: SRE10}}, "throttle": {{Kind: AdaptiveThrottle}},
		"breaker": {{Kind: CircuitBreaker}}, "all": {{Kind: TokenBucket}, {Kind: AdaptiveThrottle}, {Kind: CircuitBreaker}},
	} {
		b.Run(name, func(b *testing.B) {
			spec := Spec{Attempts: 3, Backoff: BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms, Jitter: FullJitter}}
			p := policy(b, spec, time.Second, 0, gates...)
			b.ReportAllocs()
			now, steps := work.Instant(0), 0
			for b.Loop() {
				c := p.Call(now)
				now += work.Instant(ms)
				for in, at := (Input{Kind: Begin}), now; in.Kind != 0; steps++ {
					cmd := c.Step(at, in, draw.Seed(1).For(c.DrawKey(draw.Key{Request: uint64(now)})))
					in, at = Input{Kind: Woke}, cmd.At
					switch {
					case cmd.Kind == Stop:
						in.Kind = 0
					case cmd.Kind == Send && c.Tries() == 2:
						in, at = Input{Kind: Reply, Result: ok}, c.Intended()
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
		})
	}
}
