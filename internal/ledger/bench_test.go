package ledger

import (
	"encoding/json"
	"testing"

	"shedload/internal/work"
)

func TestRecordDoesNotAllocate(t *testing.T) {
	l, events := New(Config{Classes: twoClasses}), story()
	if n := testing.AllocsPerRun(100, func() {
		for _, e := range events {
			l.Record(e)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	l, events := New(Config{Classes: twoClasses}), story()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Record(events[i%len(events)])
	}
}

func BenchmarkSnapshot(b *testing.B) {
	l := tell(Config{Classes: twoClasses}, story())
	for i := range 200_000 {
		l.Record(Event{At: work.Instant(i) * ms / 2, Kind: Finished, Unit: work.Unit{Enqueued: work.Instant(i) * ms / 3}})
	}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			l.Snapshot(97)
		}
	})
	b.Run("encode", func(b *testing.B) {
		s := l.Snapshot(97)
		for b.Loop() {
			if _, err := json.Marshal(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
