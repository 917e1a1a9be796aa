package e2e

import (
	"testing"
	"time"

	"shedload/test/need"
)

// TestPublishedExperimentsLive checks the published experiments on real processes, against
// the bounds that stand in their scenarios. It is shortened: of each experiment it runs
// some variants only, those that collapse and one of those that do not, but each of
// them at its full length. `loadgen run NAME --check` runs them all, in about five
// minutes each; shed-your-load has tests of its own.
func TestPublishedExperimentsLive(t *testing.T) {
	need.Long(t, 200*time.Second)
	for _, c := range []struct {
		scenario string
		variants []string
	}{
		{"bulkheads", []string{"unshed", "shed", "shared-pool", "bulkheads", "backend-bulkheads", "best-effort", "fast-no"}},
		{"retry-storms", []string{"unshed", "bounded-expired", "unshed-no-retries"}},
		{"metastable-overload", []string{"live-as-published", "live-no-retries"}},
		{"three-policies", []string{"live-expire"}},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			var args []string
			for _, v := range c.variants {
				args = append(args, c.scenario+"/"+v)
			}
			check(t, 5*time.Minute, args...)
		})
	}
}
