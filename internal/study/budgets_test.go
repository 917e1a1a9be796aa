package study

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/scenarios"
	"shedload/test/need"
)

var update = flag.Bool("update", false, "write the table of docs/budgets.md anew")

// budgetSeeds is how many runs a line of the table stands for.
const budgetSeeds = 5

const (
	tableBegins = "<!-- The table is written by: go test ./internal/study -run TestBudgets -update -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// storms runs each budget on each server, shared and not; where there is nothing to
// share, once.
func storms(t *testing.T) map[string][]ledger.Summary {
	t.Helper()
	s, err := scenario.Load("budgets", scenarios.Open)
	if err != nil {
		t.Fatal(err)
	}
	axes, err := Axes(s.Variants, nil)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := Cells(s, axes)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]ledger.Summary{}
	for _, c := range cells {
		if c.Values[1] != "1" && unshared(c.Values[2]) {
			continue
		}
		runs, err := Seeds(context.Background(), c.Plan, budgetSeeds, func(p scenario.Plan) (ledger.Summary, error) {
			r, err := sim.Run(p)
			return r.Summary, err
		})
		if err != nil {
			t.Fatal(err)
		}
		out[strings.Join(c.Values, " ")] = runs // server, processes, budget
	}
	return out
}

// TestBudgets runs six retry budgets under one storm, writes the table of
// docs/budgets.md, and holds what the page says.
func TestBudgets(t *testing.T) {
	need.NoRace(t)
	runs := storms(t)
	table := budgetTable(runs)
	path := filepath.Join("..", "..", "docs", "budgets.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	want := before + tableBegins + "\n" + table + "\n" + tableEnds + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is not what the runs give; look at the difference after -update", path)
	}

	for name, rs := range runs {
		v := strings.Fields(name)
		for _, s := range rs {
			retries := s.Amplification - 1
			switch {
			case !s.Conservation.OK:
				t.Errorf("%s: %+v", name, s.Conservation)
			case v[2] == "none" && v[0] == "fifo" && s.Recovery.Verdict != ledger.Collapsed:
				t.Errorf("%s: %s, but nothing stops the storm", name, s.Recovery.Verdict)
			case v[0] == "fifo" && s.GoodputShare > 0.75:
				t.Errorf("%s: goodput share %.2f, but a budget does not make a stale backlog useful", name, s.GoodputShare)
			case v[0] == "deadline" && (s.GoodputShare < 0.97 || s.Recovery.UsersVerdict != ledger.Recovered && s.Recovery.UsersVerdict != ledger.Steady):
				t.Errorf("%s: goodput share %.2f, users %s, but the discipline cures with any budget", name, s.GoodputShare, s.Recovery.UsersVerdict)
			case v[2] == "sre10" && retries > 0.101, v[1] == "1" && v[2] != "none" && retries > 0.40:
				t.Errorf("%s: %.2f retries a request, more than the budget allows", name, retries)
			}
		}
	}
}

func unshared(budget string) bool { return budget == "none" || budget == "no-retries" }

// budgetNames says what each budget allows.
var budgetNames = []struct{ name, allows string }{
	{"none", "everything, up to 10 attempts"},
	{"sre10", "10 % of requests (Google SRE book)"},
	{"finagle", "20 % of requests and 10/s (Finagle)"},
	{"envoy", "20 % of what is under way, at least 3 (Envoy)"},
	{"grpc", "while over half of 10 tokens are there (gRPC)"},
	{"aws", "500 tokens, 14 a time-out (AWS SDKs)"},
	{"dotnet", "10 % of the last 10 s (.NET)"},
	{"no-retries", "nothing"},
}

func budgetTable(runs map[string][]ledger.Summary) string {
	var b strings.Builder
	b.WriteString("| server | budget | allows | processes | amplification | peak offered/s | goodput share | goodput back after | users back after |\n")
	b.WriteString("|---|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, server := range []string{"fifo", "deadline"} {
		for _, budget := range budgetNames {
			for _, processes := range []string{"1", "10"} {
				rs := runs[server+" "+processes+" "+budget.name]
				if rs == nil {
					continue
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f | %.0f | %.0f %% | %s | %s |\n", server, budget.name, budget.allows, processes,
					SpreadOf(rs, func(s *ledger.Summary) float64 { return s.Amplification }).Median,
					SpreadOf(rs, func(s *ledger.Summary) float64 { return float64(s.Peak.OfferedPerS) }).Median,
					100*SpreadOf(rs, func(s *ledger.Summary) float64 { return s.GoodputShare }).Median,
					backAfter(rs, func(s *ledger.Summary) (string, *float64) { return s.Recovery.Verdict, s.Recovery.GoodputAfterS }),
					backAfter(rs, func(s *ledger.Summary) (string, *float64) { return s.Recovery.UsersVerdict, s.Recovery.UsersAfterS }))
			}
		}
	}
	return b.String()
}

// backAfter is the median time to come back, and its range, or how it ended.
func backAfter(rs []ledger.Summary, of func(*ledger.Summary) (string, *float64)) string {
	verdicts := map[string]int{}
	var after []ledger.Summary
	for i := range rs {
		verdict, seconds := of(&rs[i])
		verdicts[verdict]++
		if seconds != nil && (verdict == ledger.Recovered || verdict == ledger.Steady) {
			after = append(after, rs[i])
		}
	}
	switch {
	case verdicts[ledger.Steady] == len(rs):
		return "never fell"
	case len(after) < len(rs):
		for _, v := range []string{ledger.Collapsed, ledger.Degraded, ledger.Undecided} {
			if verdicts[v] == len(rs) {
				return v
			}
		}
		return fmt.Sprintf("%d of %d seeds", len(after), len(rs))
	}
	s := SpreadOf(after, func(s *ledger.Summary) float64 { _, seconds := of(s); return *seconds })
	return fmt.Sprintf("%.0f s (%.0f–%.0f)", s.Median, s.Min, s.Max)
}
