package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/scenarios"
	"shedload/test/need"
)

// plans returns the plans of an embedded scenario; all variants if none is named.
func plans(t testing.TB, name string, variants ...string) []scenario.Plan {
	t.Helper()
	return changed(t, name, variants)
}

// changed is plans with overrides as on the command line.
func changed(t testing.TB, name string, variants []string, sets ...string) []scenario.Plan {
	t.Helper()
	s, err := scenario.Load(name, scenarios.Open)
	if err != nil {
		t.Fatal(err)
	}
	if len(variants) == 0 {
		variants = []string{"*"}
	}
	p, err := s.Plans(variants, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t testing.TB, p scenario.Plan) Result {
	t.Helper()
	r, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// published is a scenario of which every variant has been run.
type published struct {
	*scenario.Scenario
	plans     []scenario.Plan
	summaries []ledger.Summary
	results   map[string]Result
}

var publishedRuns sync.Map // name → func() (published, error)

// long tells scenarios whose variants make hundreds of thousands of attempts.
func long(name string) bool {
	return strings.HasPrefix(name, "shed-your-load") && name != "shed-your-load-short"
}

// runAll runs every variant of an embedded scenario, once for all tests.
func runAll(t testing.TB, name string) published {
	t.Helper()
	if long(name) {
		need.NoRace(t)
	}
	once, _ := publishedRuns.LoadOrStore(name, sync.OnceValues(func() (published, error) {
		p := published{results: map[string]Result{}}
		var err error
		if p.Scenario, err = scenario.Load(name, scenarios.Open); err != nil {
			return p, err
		}
		if p.plans, err = p.Plans([]string{"*"}); err != nil {
			return p, err
		}
		for _, plan := range p.plans {
			r, err := Run(plan)
			if err != nil {
				return p, err
			}
			p.results[plan.Variant] = r
			p.summaries = append(p.summaries, r.Summary)
		}
		return p, nil
	}))
	p, err := once.(func() (published, error))()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// of returns the summary of a variant.
func (p published) of(t testing.TB, variant string) ledger.Summary {
	t.Helper()
	r, ok := p.results[variant]
	if !ok {
		t.Fatalf("%s has no variant %s", p.Name, variant)
	}
	return r.Summary
}

// TestExpectations: what the scenarios say about their own runs holds, and every
// attempt of every run ends in exactly one place.
func TestExpectations(t *testing.T) {
	need.NoRace(t)
	for _, name := range scenarios.List() {
		p := runAll(t, name)
		for i, plan := range p.plans {
			for _, f := range plan.Check(p.summaries[i]) {
				t.Error(f)
			}
			if c := p.summaries[i].Conservation; !c.OK || c.ClientServerGap != 0 || c.Held != c.Pending {
				t.Errorf("%s/%s: conservation %+v", name, plan.Variant, c)
			}
		}
		for _, f := range p.CheckAll(p.plans, p.summaries) {
			t.Error(f)
		}
	}
}

// golden compares a table with testdata, line by line.
func golden(t *testing.T, file, got string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	have := strings.Split(got, "\n")
	for i := range max(len(want), len(have)) {
		if i >= len(want) || i >= len(have) || want[i] != have[i] {
			t.Fatalf("%s differs in line %d: got\n%s\nwant\n%s", file, i+1, line(have, i), line(want, i))
		}
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// percent writes a share with one decimal, as the articles do.
func percent(part, whole int64) string {
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

// seeded returns p with another seed.
func seeded(p scenario.Plan, seed uint64) scenario.Plan {
	p.Seed = draw.Seed(seed)
	return p
}
