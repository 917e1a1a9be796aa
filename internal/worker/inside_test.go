package worker

import (
	"context"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/service"
	"shedload/internal/work"
)

// TestTheHeapGivesTheEarliest compares the heap with a search.
func TestTheHeapGivesTheEarliest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h runningHeap
		var oracle []work.Instant
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(oracle) > 0 && rapid.Bool().Draw(t, "pop") {
				least := 0
				for i, at := range oracle {
					if at < oracle[least] {
						least = i
					}
				}
				if next, got := h.next(), h.pop().end; got != oracle[least] || next != got {
					t.Fatalf("got %v after %v, want %v", got, next, oracle[least])
				}
				oracle = append(oracle[:least], oracle[least+1:]...)
				continue
			}
			at := work.Instant(rapid.IntRange(0, 50).Draw(t, "end"))
			h.push(job{end: at})
			oracle = append(oracle, at)
		}
		if len(oracle) == 0 && h.next() != work.Never {
			t.Fatal("an empty heap has a next end")
		}
	})
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	var b backoff
	for i := range 50 {
		most := min(lastPause, firstPause<<min(i, 10))
		if got := b.next(); got < most/2 || got >= most {
			t.Fatalf("pause %d: %v is not in %v to %v", i, got, most/2, most)
		}
	}
}

func TestBurningEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	burnCPU(ctx, time.Hour)
}

// FuzzAnswer reads any answer of a server without harm.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"leases":[{"lease":"x","request":"1","attempt":1,"class":"a","timeout_ms":"949.731"}],"load":{"queued":1}}`))
	f.Add(409, []byte(`{"stale":["x"]}`))
	f.Add(200, []byte(`{"leases":[{"timeout_ms":"NaN","request":"-1"}]}`))
	f.Add(204, []byte(nil))
	m, err := service.New(service.Config{ServiceTime: service.Spec{A: time.Millisecond}})
	if err != nil {
		f.Fatal(err)
	}
	w, err := New(Config{API: "http://x", Name: "n", Workers: 1, Model: m})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		g, stale, err := parse(status, body)
		if err != nil && (len(g.Leases) > 0 || len(stale) > 0) {
			t.Fatalf("%v, and %d leases", err, len(g.Leases))
		}
		if err == nil && status != http.StatusOK && len(g.Leases) > 0 {
			t.Fatalf("leases with status %d", status)
		}
		for _, l := range g.Leases {
			w.startLocked(l, g, 0)
		}
		for len(w.running) > 0 {
			if j := w.running.pop(); j.deadline < 0 || j.end < j.start {
				t.Fatalf("job %+v", j)
			}
		}
	})
}
