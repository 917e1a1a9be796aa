package retry

import (
	"fmt"
	"testing"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

func at(millis int64) work.Instant { return work.Instant(millis) * work.Instant(ms) }

func policy(t testing.TB, s Spec, patience, request time.Duration, gates ...GateSpec) *Policy {
	t.Helper()
	p, err := NewPolicy(s, patience, request, gates)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// move is one input to a call, with the command that must come of it.
type move struct {
	now  int64 // ms
	in   Input
	want Command
}

func woke(now int64, want Command) move { return move{now, Input{Kind: Woke}, want} }

func reply(now int64, r work.Result, want Command) move {
	return move{now, Input{Kind: Reply, Result: r}, want}
}

func send(deadline int64) Command   { return Command{Kind: Send, At: at(deadline)} }
func resume(deadline int64) Command { return Command{Kind: Send, At: at(deadline), Resume: true} }
func wait(until int64) Command      { return Command{Kind: Wait, At: at(until)} }
func stop(why Why) Command          { return Command{Kind: Stop, Why: why} }

var (
	ok      = work.Result{Outcome: work.Succeeded}
	refused = work.Result{Outcome: work.Refused, Reason: work.QueueFull}
	dropped = work.Result{Outcome: work.Dropped, Reason: work.Doomed}
	failed  = work.Result{Outcome: work.Failed, Reason: work.Broken}
	broken  = work.Result{Outcome: work.ClientError}
	nothing = Command{}
)

// play begins a request at 0 and steps through moves.
func play(t *testing.T, p *Policy, first Command, moves ...move) *Call {
	t.Helper()
	c := p.Call(0)
	if got := c.Step(0, Input{Kind: Begin}, draw.Rand{}); got != first {
		t.Fatalf("begin: %+v, want %+v", got, first)
	}
	for i, m := range moves {
		if got := c.Step(at(m.now), m.in, draw.Rand{}); got != m.want {
			t.Fatalf("move %d at %d ms: %+v, want %+v", i, m.now, got, m.want)
		}
	}
	return &c
}

func TestCall(t *testing.T) {
	three := Spec{Attempts: 3, Backoff: BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms}}
	for name, c := range map[string]struct {
		spec    Spec
		request time.Duration
		moves   []move // after a first send with the deadline 500 ms
	}{
		"answered":                       {spec: three, moves: []move{reply(20, ok, stop(Success))}},
		"answered exactly at deadline":   {spec: three, moves: []move{reply(500, ok, stop(Success)), woke(500, nothing)}},
		"answered just after":            {spec: three, moves: []move{reply(501, ok, nothing), woke(501, wait(600))}},
		"pending is no answer":           {spec: three, moves: []move{reply(499, work.Result{Outcome: work.TimedOut}, nothing), woke(500, wait(600))}},
		"no retry by default":            {moves: []move{woke(500, stop(OutOfAttempts))}},
		"late answer rescues nothing":    {spec: three, moves: []move{woke(500, wait(600)), reply(550, ok, nothing), woke(600, send(1100))}},
		"three time-outs":                {spec: three, moves: []move{woke(500, wait(600)), woke(600, send(1100)), woke(1100, wait(1300)), woke(1300, send(1800)), woke(1800, stop(OutOfAttempts))}},
		"refusal, drop, then success":    {spec: three, moves: []move{reply(1, refused, wait(101)), woke(101, send(601)), reply(111, dropped, wait(311)), woke(311, send(811)), reply(361, ok, stop(Success))}},
		"failure and broken exchange":    {spec: three, moves: []move{reply(1, failed, wait(101)), woke(101, send(601)), reply(601, broken, wait(801)), woke(801, send(1301)), reply(801, failed, stop(OutOfAttempts))}},
		"only time-outs are retried":     {spec: Spec{Attempts: 50, On: []Cause{Timeout}}, moves: []move{woke(500, wait(500)), woke(500, send(1000)), reply(600, refused, stop(NotRetryable))}},
		"a drop counts as a refusal":     {spec: Spec{Attempts: 2, On: []Cause{Refusal}}, moves: []move{reply(10, dropped, wait(10)), woke(10, send(510)), woke(510, stop(NotRetryable))}},
		"do not retry":                   {spec: three, moves: []move{reply(10, work.Result{Outcome: work.Refused, DoNotRetry: true}, stop(NotRetryable))}},
		"a driver that notices late":     {spec: three, moves: []move{woke(507, wait(600)), woke(604, send(1100)), woke(1190, wait(1300))}},
		"over is over":                   {spec: three, moves: []move{reply(20, ok, stop(Success)), reply(21, ok, nothing), woke(500, nothing)}},
		"begin happens once":             {spec: three, moves: []move{{3, Input{Kind: Begin}, nothing}, reply(20, ok, stop(Success))}},
		"resume after a time-out":        {spec: Spec{Attempts: 3, Resume: true}, moves: []move{woke(500, wait(500)), woke(500, resume(1000)), woke(1000, wait(1000)), woke(1000, resume(1500)), woke(1500, stop(OutOfAttempts))}},
		"a refusal leaves none to join":  {spec: Spec{Attempts: 3, Resume: true}, moves: []move{reply(1, refused, wait(1)), woke(1, send(501)), woke(501, wait(501)), woke(501, resume(1001))}},
		"a drop of the one that we join": {spec: Spec{Attempts: 4, Resume: true}, moves: []move{woke(500, wait(500)), woke(500, resume(1000)), reply(700, dropped, wait(700)), woke(700, send(1200))}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, policy(t, c.spec, 500*ms, c.request), send(500), c.moves...)
		})
	}
}

func TestCallCountsResumesApart(t *testing.T) {
	c := play(t, policy(t, Spec{Attempts: 5, Resume: true}, 500*ms, 0), send(500),
		woke(500, wait(500)), woke(500, resume(1000)),
		reply(900, refused, wait(900)), woke(900, send(1400)), woke(1400, wait(1400)), woke(1400, resume(1900)))
	if c.Attempts() != 2 || c.Tries() != 4 {
		t.Errorf("%d attempts in %d tries, want 2 in 4", c.Attempts(), c.Tries())
	}
}

// shed-your-load: patience 1 s, a new attempt at the very end of patience, 50 attempts.
func TestCallOfShedYourLoad(t *testing.T) {
	var moves []move
	for k := int64(1); k < 50; k++ {
		moves = append(moves, woke(k*1000, wait(k*1000)), woke(k*1000, send((k+1)*1000)))
	}
	moves = append(moves, woke(50_000, stop(OutOfAttempts)))
	play(t, policy(t, Spec{Attempts: 50, On: []Cause{Timeout}, RetryAfter: Ignore}, time.Second, 0), send(1000), moves...)
}

// Trap: "Round down; subtract retries and backoff." What earlier tries and pauses
// took of the request's deadline is gone for the later ones.
func TestTrapDeadlineSubtractsRetriesAndBackoff(t *testing.T) {
	spec := Spec{Attempts: 10, Backoff: BackoffSpec{Kind: FixedBackoff, Base: 100 * ms}}
	t.Run("the last try gets what is left", func(t *testing.T) {
		play(t, policy(t, spec, 500*ms, 1500*ms), send(500),
			woke(500, wait(600)), woke(600, send(1100)), woke(1100, wait(1200)),
			woke(1200, send(1500)), woke(1500, stop(OutOfTime)))
	})
	t.Run("no pause beyond the deadline", func(t *testing.T) {
		play(t, policy(t, spec, 500*ms, 600*ms), send(500), woke(500, stop(OutOfTime)))
	})
	t.Run("one nanosecond left is time left", func(t *testing.T) {
		c := play(t, policy(t, spec, 500*ms, 600*ms+1), send(500), woke(500, wait(600)))
		if got := c.Step(at(600), Input{Kind: Woke}, draw.Rand{}); got != (Command{Kind: Send, At: at(600) + 1}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("shorter than patience", func(t *testing.T) {
		play(t, policy(t, spec, 500*ms, 300*ms), send(300), reply(301, ok, nothing), woke(301, stop(OutOfTime)))
	})
}

// Trap: "Retry-After ... no cap, waited past the caller's deadline." (Reading the
// header is package deadline's.)
func TestTrapRetryAfter(t *testing.T) {
	asks := func(d time.Duration) work.Result { return work.Result{Outcome: work.Refused, RetryAfter: d} }
	short := Spec{Attempts: 3, Backoff: BackoffSpec{Kind: FixedBackoff, Base: 100 * ms}}
	for name, c := range map[string]struct {
		spec    Spec
		request time.Duration
		asked   time.Duration
		want    Command
	}{
		"never earlier than asked":        {short, 0, 2 * time.Second, wait(2010)},
		"nor earlier than our own pause":  {short, 0, 50 * ms, wait(110)},
		"nor for a cap on our own pause":  {Spec{Attempts: 3, Backoff: BackoffSpec{Kind: FixedBackoff, Base: ms, Cap: ms}}, 0, time.Second, wait(1010)},
		"capped":                          {short, 0, 1000 * time.Hour, wait(10 + MaxWait.Milliseconds())},
		"ignored when told to":            {Spec{Attempts: 3, RetryAfter: Ignore}, 0, 2 * time.Second, wait(10)},
		"never past the deadline":         {short, 2 * time.Second, 1990 * ms, stop(OutOfTime)},
		"up to the deadline":              {short, 2 * time.Second, 1989 * ms, wait(1999)},
		"a negative one asks for nothing": {short, 0, -time.Second, wait(110)},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, policy(t, c.spec, 500*ms, c.request), send(500), reply(10, asks(c.asked), c.want))
		})
	}
}

func TestGateEndsTheRequest(t *testing.T) {
	t.Run("before its first attempt", func(t *testing.T) {
		p := policy(t, Spec{Attempts: 3}, 500*ms, 0, GateSpec{Kind: CircuitBreaker, MinRequests: new(1)})
		play(t, p, send(500), reply(1, failed, wait(1)), woke(1, stop(GateRefused)))
		c := play(t, p, stop(GateRefused))
		if c.Tries() != 0 {
			t.Errorf("%d tries, want none", c.Tries())
		}
	})
	empty := GateSpec{Kind: TokenBucket, Initial: new(Thousandths(0)), Earn: new(Thousandths(0))}
	t.Run("when the retry is sent", func(t *testing.T) {
		play(t, policy(t, Spec{Attempts: 3}, 500*ms, 0, empty), send(500), woke(500, wait(500)), woke(500, stop(GateRefused)))
	})
	t.Run("when the retry is scheduled", func(t *testing.T) {
		early := empty
		early.Charge = new(ChargeSchedule)
		play(t, policy(t, Spec{Attempts: 3}, 500*ms, 0, early), send(500), woke(500, stop(GateRefused)))
	})
}

// Draws must not repeat between tries, and the throttle's must differ from the backoff's.
func TestDrawKeysAreDistinct(t *testing.T) {
	c := policy(t, Spec{Attempts: 4}, 500*ms, 0).Call(0)
	seen := map[draw.Key]string{}
	now := work.Instant(0)
	for i, in := 0, Begin; ; i++ {
		k := c.DrawKey(draw.Key{Request: 7})
		step := fmt.Sprintf("step %d", i)
		if seen[k] != "" {
			t.Errorf("%s draws like %s: %+v", step, seen[k], k)
		}
		seen[k] = step
		cmd := c.Step(now, Input{Kind: in}, draw.Rand{})
		if cmd.Kind == Stop {
			break
		}
		in, now = Woke, cmd.At
	}
	if len(seen) != 8 {
		t.Errorf("%d steps, want 8", len(seen))
	}
}
