package ledger

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRecordNIsRecordNTimes: a cohort counts like its members one by one.
func TestRecordNIsRecordNTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{Classes: twoClasses, Windows: []WindowSpec{{"started", 0, 3 * time.Second, false}, {"done", time.Second, 4 * time.Second, true}}}
		once, single := New(config), New(config)
		n := rapid.Int64Range(1, 5).Draw(t, "n")
		for _, e := range drawStream(t, 2) {
			once.RecordN(e, n)
			for range n {
				single.Record(e)
			}
		}
		meta := Meta{Horizon: 10 * time.Second}
		if a, b := once.Summary(meta), single.Summary(meta); !reflect.DeepEqual(a, b) {
			t.Fatalf("%d at once: %+v\none by one: %+v", n, a, b)
		}
		if a, b := once.Rows(0), single.Rows(0); !reflect.DeepEqual(a, b) {
			t.Fatalf("%d at once: %+v\none by one: %+v", n, a, b)
		}
	})
}
