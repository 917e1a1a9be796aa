package admit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// For any answers the limit stays between its bounds and is a number, and no door
// admits at or beyond it.
func TestLimitStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{Kind: rapid.SampledFrom([]Kind{AIMD, Gradient2, Vegas}).Draw(t, "kind")}
		s.Floor = rapid.IntRange(1, 30).Draw(t, "floor")
		s.Ceiling = s.Floor + rapid.IntRange(0, 50).Draw(t, "room")
		p, err := s.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		now := work.Instant(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += work.Instant(rapid.IntRange(0, int(100*ms)).Draw(t, "gap"))
			l := Load{InService: rapid.IntRange(0, 100).Draw(t, "in flight"), Workers: rapid.IntRange(0, 40).Draw(t, "workers")}
			admitted := p.Admit(work.Unit{}, l, now).Admitted()
			limit := p.(Limiter).Limit(now)
			if admitted != (l.InService < limit) {
				t.Fatalf("%d in flight, limit %d: admitted %v", l.InService, limit, admitted)
			}
			p.(Learner).Learn(Sample{
				Latency:  time.Duration(rapid.Int64Range(0, math.MaxInt32).Draw(t, "latency")),
				InFlight: l.InService + 1,
				Outcome:  SampleOutcome(rapid.IntRange(0, 2).Draw(t, "outcome")),
			}, now)
			if limit := p.(Limiter).Limit(now); limit < s.Floor || limit > s.Ceiling {
				t.Fatalf("limit %d is outside %d to %d", limit, s.Floor, s.Ceiling)
			}
		}
	})
}
