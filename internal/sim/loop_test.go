package sim

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// TestLoopIsASortedList holds the loop to the simplest thing that has its order,
// with events near, far and at one instant, scheduled while it runs.
func TestLoopIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Loop
		var oracle []event
		var now work.Instant
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "schedule") {
				ahead := rapid.SampledFrom([]work.Instant{0, 1, bucketWidth - 1, bucketWidth, 3 * second, buckets * bucketWidth, 3600 * second}).Draw(t, "ahead")
				at := now + work.Instant(rapid.Int64Range(0, int64(ahead)).Draw(t, "at"))
				phase := Phase(rapid.IntRange(0, int(Samples)).Draw(t, "phase"))
				l.at(at, phase, event{a: l.sequence})
				oracle = append(oracle, event{at: at, order: uint64(phase)<<phaseShift | l.sequence<<sequenceShift, a: l.sequence - 1})
				continue
			}
			slices.SortFunc(oracle, func(e, f event) int { return cmp.Or(cmp.Compare(e.at, f.at), cmp.Compare(e.order, f.order)) })
			end := now + work.Instant(rapid.Int64Range(0, int64(5*second)).Draw(t, "end"))
			got, ok := l.next(end)
			if wantOK := len(oracle) > 0 && oracle[0].at < end; ok != wantOK {
				t.Fatalf("an event before %v: %v, want %v", end, ok, wantOK)
			} else if ok {
				if got != oracle[0] {
					t.Fatalf("next is %+v, want %+v", got, oracle[0])
				}
				now, oracle = got.at, oracle[1:]
			}
		}
	})
}

func BenchmarkLoop(b *testing.B) {
	var l Loop
	for i := range 10_000 {
		l.at(work.Instant(i)*second/10_000, TimeOuts, event{})
	}
	b.ReportAllocs()
	for b.Loop() {
		e, _ := l.next(work.Never)
		l.at(e.at+second, TimeOuts, event{})
	}
}
