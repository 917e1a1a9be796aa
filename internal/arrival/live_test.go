package arrival

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// A phase that is added in time gives the arrivals that it would have given from
// the start, but for the one that was handed out already.
func TestAddedPhaseActsLikeAPlannedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		p := anyPhase(t)
		planned, err := New(s, []Phase{p}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		live, err := New(s, nil, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := until(planned, 10*time.Second)
		var got []work.Instant
		now := work.Instant(s.From)
		for len(got) < len(want) && now < work.Instant(p.At) && want[len(got)] < work.Instant(p.At) {
			now, _ = live.Next()
			got = append(got, now)
		}
		if err := live.Add(p, min(now, work.Instant(p.At))); err != nil {
			t.Fatal(err)
		}
		got = append(got, until(live, 10*time.Second)...)
		if len(got) != len(want) {
			t.Fatalf("%d arrivals, want %d", len(got), len(want))
		}
		// Where a ramp is cut its rate is rounded to a millionth of an arrival a second.
		within := work.Instant(1)
		if s.Kind == Ramp {
			within = work.Instant(time.Microsecond)
		}
		for i := range want {
			if d := got[i] - want[i]; d < -within || d > within {
				t.Fatalf("arrival %d is at %d, want %d", i, got[i], want[i])
			}
		}
	})
}

func TestSetRate(t *testing.T) {
	q := schedule(t, Spec{Kind: Even, Rate: 10})
	q.Next()
	if at, _ := q.Next(); at != work.Instant(100*ms) {
		t.Fatalf("second arrival at %s", at)
	}
	// Half of the gap is over when the rate changes.
	if err := q.SetRate(1000, work.Instant(150*ms)); err != nil {
		t.Fatal(err)
	}
	if at, _ := q.Next(); at != work.Instant(150*ms+500*time.Microsecond) {
		t.Errorf("after the change the next arrival is at %s", at)
	}
	if err := q.SetRate(0, work.Instant(151*ms)); err != nil {
		t.Fatal(err)
	}
	if at, ok := q.Next(); ok {
		t.Errorf("at rate 0 there is an arrival at %s", at)
	}
	if err := q.SetRate(1000, work.Instant(time.Hour)); err != nil {
		t.Fatal(err)
	}
	// Nothing is made up for: no arrival is before the change.
	if at, ok := q.Next(); !ok || at < work.Instant(time.Hour) || at > work.Instant(time.Hour+ms) {
		t.Errorf("after the pause the next arrival is at %s, %v", at, ok)
	}
	if q.Rate(work.Instant(time.Hour)) != 1000 {
		t.Errorf("the rate is %v", q.Rate(work.Instant(time.Hour)))
	}
	if err := schedule(t, Spec{Kind: Burst, Count: 1}).SetRate(1, 0); err == nil {
		t.Error("the rate of a burst can be set")
	}
}

func TestPhasesThatAreOverAreForgotten(t *testing.T) {
	q := schedule(t, Spec{Kind: Even, Rate: 1})
	for i := range 2 * MaxPhases {
		now := work.Instant(time.Duration(i) * time.Second)
		if err := q.Add(Phase{Name: "spike", At: time.Duration(now), For: time.Second, Rate: 2}, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(q.phases) != 1 {
		t.Errorf("%d phases are kept", len(q.phases))
	}
	q = schedule(t, Spec{Kind: Even, Rate: 1})
	for range MaxPhases {
		if err := q.Add(Phase{For: time.Hour, Rate: 2}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Add(Phase{For: time.Hour, Rate: 2}, 0); err == nil {
		t.Error("one phase too many is accepted")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		says string
	}{
		{Spec{}, "no kind: allowed are even, poisson, burst, onoff, ramp, trace"},
		{Spec{Kind: Even, Rate: -1}, "rate -1 is not in 0 to 1e+09"},
		{Spec{Kind: Poisson, Rate: 2e9}, "rate 2e+09 is not in"},
		{Spec{Kind: Even, Rate: 1, Count: 3}, "arrivals even: has no setting count"},
		{Spec{Kind: Poisson, Rate: 1, Poisson: true}, "has no setting poisson"},
		{Spec{Kind: Burst}, "count 0 is not in 1 to"},
		{Spec{Kind: Burst, Count: 1, Rate: 5}, "has no setting rate"},
		{Spec{Kind: OnOff, Rate: 1, On: time.Second}, "on 1s and off 0s must be in 1ms"},
		{Spec{Kind: OnOff, On: time.Second, Off: time.Second}, "must be at least 0.001"},
		{Spec{Kind: Ramp, Rate: 1, To: 2}, "over 0s must be above 0s"},
		{Spec{Kind: Trace, Trace: []work.Instant{2, 1}}, "arrival 1 at 1ns is before the one ahead of it"},
		{Spec{Kind: Even, Rate: 1, From: time.Second, Until: time.Second}, "until 1s is not after from 1s"},
		{Spec{Kind: Even, Rate: 1, From: -1}, "from -1ns"},
	} {
		if _, err := New(c.spec, nil, 1, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v; want %q", c.spec, err, c.says)
		}
	}
	for _, c := range []struct {
		phase Phase
		says  string
	}{
		{Phase{Name: "p", For: 1}, `phase "p": 0 of rate, factor and stop are given`},
		{Phase{For: 1, Rate: 1, Stop: true}, "2 of rate, factor and stop"},
		{Phase{Rate: 1}, "for 0s above 0s"},
		{Phase{At: -1, For: 1, Rate: 1}, "at -1ns must be in 0s to"},
		{Phase{For: 1, Rate: -1}, "rate -1"},
		{Phase{For: 1, Factor: -1}, "factor -1"},
		{Phase{For: 1, Stop: true, To: 3}, "goes with rate or factor only"},
	} {
		if _, err := New(Spec{Kind: Even, Rate: 1}, []Phase{c.phase}, 1, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v; want %q", c.phase, err, c.says)
		}
	}
}

func TestKindText(t *testing.T) {
	for _, k := range []Kind{Even, Poisson, Burst, OnOff, Ramp, Trace} {
		text, _ := k.MarshalText()
		var again Kind
		if err := again.UnmarshalText(text); err != nil || again != k {
			t.Errorf("%s reads as %s, %v", k, again, err)
		}
	}
	for _, text := range []string{"", "Even", "random"} {
		var k Kind
		if err := k.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "allowed are even, poisson") {
			t.Errorf("%q: %s, %v", text, k, err)
		}
	}
}

// All times × k and all rates ÷ k: the arrivals × k.
func TestScaledSchedule(t *testing.T) {
	s := Spec{Kind: Poisson, Rate: 60, From: time.Second, Until: 40 * time.Second}
	p := Phase{Name: "spike", At: 20 * time.Second, For: 10 * time.Second, Rate: 400}
	plain := until(schedule(t, s, p), time.Hour)
	large := until(schedule(t, s.Scaled(4), p.Scaled(4)), time.Hour)
	if len(plain) != len(large) {
		t.Fatalf("%d and %d arrivals", len(plain), len(large))
	}
	for i := range plain {
		if d := large[i] - 4*plain[i]; d < -4 || d > 4 {
			t.Fatalf("arrival %d is at %d and %d", i, plain[i], large[i])
		}
	}
}

func BenchmarkNextPoisson(b *testing.B) {
	q, err := New(Spec{Kind: Poisson, Rate: 400}, nil, 1, 0)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		q.Next()
	}
}
