package arrival

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// Arrivals never fall, and are as many as the integral of the rate, to one.
func TestCountIsTheIntegralOfTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		var phases []Phase
		for range rapid.IntRange(0, 4).Draw(t, "phases") {
			phases = append(phases, anyPhase(t))
		}
		q, err := New(s, phases, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := until(q, 10*time.Second)
		end := time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "end"))
		want, last := integral(t, s, phases, end), work.Instant(s.From)
		for _, at := range all {
			if at < last {
				t.Fatalf("%s after %s", at, last)
			}
			last = at
		}
		if got := float64(within(all, 0, end)); math.Abs(got-want) > 1.1 {
			t.Fatalf("%v arrivals by %s, want %v", got, end, want)
		}
	})
}

// integral adds up the nominal rate in steps of a millisecond, the grid of all
// boundaries in the test, by the trapezoidal rule, which is exact on ramps.
func integral(t *rapid.T, s Spec, phases []Phase, end time.Duration) float64 {
	q, err := New(s, phases, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for at := s.From; at < end; at += ms {
		width := min(ms, end-at)
		sum += (q.Rate(work.Instant(at)) + q.Rate(work.Instant(at+width-1))) / 2 * width.Seconds()
	}
	return sum
}

func anySpec(t *rapid.T) Spec {
	rate := rapid.Float64Range(0.001, 500)
	span := func(name string) time.Duration { return time.Duration(rapid.IntRange(1, 4000).Draw(t, name)) * ms }
	s := Spec{Kind: rapid.SampledFrom([]Kind{Even, OnOff, Ramp}).Draw(t, "kind"), Rate: rate.Draw(t, "rate"), From: span("from")}
	switch s.Kind {
	case OnOff:
		s.On, s.Off, s.OffRate = span("on"), span("off"), rate.Draw(t, "off rate")
	case Ramp:
		s.To, s.Over = rate.Draw(t, "to"), span("over")
	}
	return s
}

func anyPhase(t *rapid.T) Phase {
	p := Phase{
		At:  time.Duration(rapid.IntRange(0, 8000).Draw(t, "at")) * ms,
		For: time.Duration(rapid.IntRange(1, 5000).Draw(t, "for")) * ms,
	}
	switch rapid.IntRange(0, 2).Draw(t, "effect") {
	case 0:
		p.Rate = rapid.Float64Range(0.001, 900).Draw(t, "rate")
		if rapid.Bool().Draw(t, "ramp") {
			p.To = rapid.Float64Range(0.001, 900).Draw(t, "to")
		}
	case 1:
		p.Factor = rapid.Float64Range(0.001, 5).Draw(t, "factor")
	default:
		p.Stop = true
	}
	return p
}
