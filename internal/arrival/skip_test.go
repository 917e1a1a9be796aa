package arrival

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// TestSkipIsNextManyTimes: skipping counts what taking one by one counts, and
// leaves the same arrivals for later.
func TestSkipIsNextManyTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]Spec{
			{Kind: Even, Rate: 80}, {Kind: Even, Rate: 333.333}, {Kind: Even, Rate: 7.5, From: 300 * time.Millisecond, Until: 5 * time.Second},
			{Kind: OnOff, Rate: 100, OffRate: 3, On: 700 * time.Millisecond, Off: 1100 * time.Millisecond},
			{Kind: Poisson, Rate: 50}, {Kind: Burst, Count: 40, From: time.Second},
			{Kind: Trace, Trace: []work.Instant{0, 5, 5, second, second + 1, 3 * second}},
		}).Draw(t, "spec")
		phases := []Phase{{Name: "spike", At: 2 * time.Second, For: time.Second, Rate: 1000}, {Name: "stop", At: 3 * time.Second, For: time.Second, Stop: true}}
		if rapid.Bool().Draw(t, "late start") {
			phases = append(phases, Phase{Name: "closed", For: 900 * time.Millisecond, Stop: true})
		}
		if spec.Kind == Burst || spec.Kind == Trace || rapid.Bool().Draw(t, "flat") {
			phases = nil
		}
		a, err := New(spec, phases, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := New(spec, phases, 1, 0)
		next, ok := b.Next()
		for now := work.Instant(0); now < 6*second; {
			now += work.Instant(rapid.Int64Range(1, int64(second)).Draw(t, "step"))
			want := uint64(0)
			for ; ok && next < now; next, ok = b.Next() {
				want++
			}
			if got := a.Skip(now); got != want {
				t.Fatalf("%d arrivals before %v, want %d", got, now, want)
			}
		}
		if got, left := a.Next(); left != ok || got != next {
			t.Fatalf("the next is %v (%v), want %v (%v)", got, left, next, ok)
		}
	})
}
