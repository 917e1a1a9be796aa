package station

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

// TestLeaseTableIsAList holds the table to a plain list in the order of taking.
func TestLeaseTableIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newLeaseTable()
		var oracle []lease
		var now work.Instant
		find := func(id uint64) int {
			return slices.IndexFunc(oracle, func(l lease) bool { return l.unit.ID == id })
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			id := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Just(uint64(1)<<63), rapid.Uint64()).Draw(t, "id")
			i := find(id)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				now++
				if i < 0 {
					u := work.Unit{ID: id, Deadline: now}
					table.add(u, now)
					oracle = append(oracle, lease{unit: u, taken: now})
				}
			case 2:
				got, ok := table.remove(id)
				if ok != (i >= 0) || ok && (got.unit != oracle[i].unit || got.taken != oracle[i].taken) {
					t.Fatalf("removed %+v (%v), want index %d of %+v", got, ok, i, oracle)
				}
				if ok {
					oracle = slices.Delete(oracle, i, i+1)
				}
			case 3:
				if ok := table.extend(id, now+1000); ok != (i >= 0) {
					t.Fatalf("extended %v, want %v", ok, i >= 0)
				} else if ok {
					oracle[i].unit.Deadline = now + 1000
				}
			case 4:
				got, ok := table.expired(now, 20)
				want := len(oracle) > 0 && oracle[0].taken+20 <= now
				if ok != want || ok && got != oracle[0].unit {
					t.Fatalf("expired %+v (%v), want %v of %+v", got, ok, want, oracle)
				}
				if ok {
					oracle = oracle[1:]
				}
			}
			next := work.Never
			if len(oracle) > 0 {
				next = oracle[0].taken + 20
			}
			if got := table.next(20); got != next {
				t.Fatalf("next is %v, want %v", got, next)
			}
			var ids []uint64
			for _, l := range oracle {
				ids = append(ids, l.unit.ID)
			}
			if slices.Sort(ids); !slices.Equal(table.ids(), ids) {
				t.Fatalf("holds %v, want %v", table.ids(), ids)
			}
		}
	})
}

// TestLeasesDoNotGrowWithTime: what has been taken and finished leaves nothing
// behind, however long a lease would have lasted.
func TestLeasesDoNotGrowWithTime(t *testing.T) {
	table := newLeaseTable()
	for i := range uint64(1_000_000) {
		table.add(work.Unit{ID: i}, work.Instant(i))
		if i >= 10 {
			if _, ok := table.remove(i - 10); !ok {
				t.Fatalf("%d is missing", i-10)
			}
		}
	}
	if len(table.slots) > 16 || len(table.index.entries) > 32 {
		t.Errorf("%d slots and %d entries for ten leases", len(table.slots), len(table.index.entries))
	}
}

func BenchmarkLeases(b *testing.B) {
	const held = 80_000
	table := newLeaseTable()
	for i := range uint64(held) {
		table.add(work.Unit{ID: i << 32}, 0)
	}
	b.ReportAllocs()
	id := uint64(held)
	for b.Loop() {
		table.remove((id - held) << 32)
		table.add(work.Unit{ID: id << 32}, 0)
		id++
	}
}
