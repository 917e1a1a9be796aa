package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestThreePoliciesTables: every cell of both published files, to the byte.
func TestThreePoliciesTables(t *testing.T) {
	p := runAll(t, "three-policies")
	sums := map[string]string{
		"three-policies-sweep.csv":    "bc2ba213029757e0f7a86fd9b940ad35d7d787184b69d563c22b8ca0029e9609",
		"three-policies-hangover.csv": "2a2941d8f543cef2b563fab8ec83af554d4ab8378bc459c01ca89b2c9654d775",
	}
	for _, table := range p.Tables {
		got, err := p.Render(table, p.plans, p.summaries)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", table.File))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			golden(t, table.File, string(got))
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(got)); sum != sums[table.File] {
			t.Errorf("%s has SHA-256 %s, published is %s", table.File, sum, sums[table.File])
		}
		delete(sums, table.File)
	}
	if len(sums) > 0 {
		t.Errorf("not among the tables: %v", sums)
	}
}

func TestSameGoodputAtTwiceCapacity(t *testing.T) {
	p := runAll(t, "three-policies")
	for _, policy := range []string{"tail-drop", "expire", "lifo"} {
		if got := p.of(t, policy+"-200").Goodput; got != 500 { // 100 a second for 5 s
			t.Errorf("%s: goodput %d, want 500", policy, got)
		}
	}
	if got := p.of(t, "fifo-200").Goodput; got > 50 {
		t.Errorf("fifo: goodput %d", got)
	}
}

func TestBelowCapacityAllPoliciesAreAlike(t *testing.T) {
	p := runAll(t, "three-policies")
	for _, rate := range []string{"50", "75", "100"} {
		want := p.of(t, "fifo-"+rate)
		for _, policy := range []string{"tail-drop", "expire", "lifo"} {
			got := p.of(t, policy+"-"+rate)
			if got.Goodput != want.Goodput || got.LatencyMS != want.LatencyMS || got.Attempts.Late != 0 {
				t.Errorf("%s at %s/s differs from fifo", policy, rate)
			}
		}
	}
}

// The policies differ in how long those wait who are turned away, and in how long
// a burst hurts.
func TestTimeToNo(t *testing.T) {
	p := runAll(t, "three-policies")
	no := func(policy string) float64 { return p.of(t, policy+"-200").LatencyMS.ShedWait.P50 }
	if tail, expire, lifo := no("tail-drop"), no("expire"), no("lifo"); tail != 0 || expire != 195 || lifo != 2495 {
		t.Errorf("median time to no: tail-drop %v, expire %v, lifo %v ms", tail, expire, lifo)
	}
}

func TestHangover(t *testing.T) {
	p := runAll(t, "three-policies")
	// A second after the burst of half a second, fifo answers after more than a second;
	// the bounded ones are back at the queue that a calm second leaves.
	at := func(policy string, window int) float64 {
		return p.of(t, "hangover-"+policy).Windows[window].Completed.SojournMS.P99
	}
	if fifo, tail, expire := at("fifo", 24), at("tail-drop", 24), at("expire", 24); fifo < 1000 || tail > 30 || expire > 30 {
		t.Errorf("p99 at 2.4 s: fifo %v, tail-drop %v, expire %v ms", fifo, tail, expire)
	}
}
