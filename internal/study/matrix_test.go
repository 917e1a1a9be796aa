package study

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/scenarios"
	"shedload/test/need"
)

func TestAxes(t *testing.T) {
	variants := []string{"server-fifo", "server-adaptive-lifo", "trigger-spike", "work-steady", "trigger-loss"}
	for _, c := range []struct {
		only []string
		want string
	}{
		{nil, "[{server [fifo adaptive-lifo]} {trigger [spike loss]} {work [steady]}]"},
		{[]string{"trigger-loss"}, "[{server [fifo adaptive-lifo]} {trigger [loss]} {work [steady]}]"},
		{[]string{"work-steady", "server-fifo"}, "[{server [fifo]} {trigger [spike loss]} {work [steady]}]"},
	} {
		axes, err := Axes(variants, c.only)
		if err != nil || fmt.Sprint(axes) != c.want {
			t.Errorf("%v: %v, %v; want %s", c.only, axes, err, c.want)
		}
	}
	for _, c := range []struct {
		variants, only []string
		want           string
	}{
		{[]string{"fifo", "server-lifo"}, nil, "variant fifo"},
		{[]string{"server-fifo", "server-lifo"}, nil, "two axes or more"},
		{variants, []string{"server-lifo"}, `unknown variant "server-lifo"`},
	} {
		if _, err := Axes(c.variants, c.only); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.variants, err, c.want)
		}
	}
}

func TestCombinationsComeRowByRow(t *testing.T) {
	got := combinations([]Axis{{"server", []string{"a", "b"}}, {"trigger", []string{"1", "2"}}, {"clients", []string{"x", "y"}}})
	want := "[[a 1 x] [b 1 x] [a 1 y] [b 1 y] [a 2 x] [b 2 x] [a 2 y] [b 2 y]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestFillStopsAtTheFirstError(t *testing.T) {
	cells := make([]Cell, 100)
	for i := range cells {
		cells[i].Plan.Variant = fmt.Sprint(i)
	}
	broken := errors.New("broken")
	var ran atomic.Int64
	err := Fill(context.Background(), cells, 1, func(p scenario.Plan) (ledger.Summary, error) {
		if ran.Add(1) == 3 {
			return ledger.Summary{}, broken
		}
		return ledger.Summary{Variant: p.Variant}, nil
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "2: broken") || ran.Load() != 3 || cells[1].Summary.Variant != "1" {
		t.Errorf("%v after %d runs", err, ran.Load())
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(broken)
	if err := Fill(ctx, cells, 2, func(scenario.Plan) (ledger.Summary, error) { return ledger.Summary{}, nil }); !errors.Is(err, broken) {
		t.Errorf("%v, want the cause", err)
	}
}

// filled runs the scenario matrix in virtual time and returns its cells by their values.
func filled(t *testing.T, only ...string) map[string]ledger.Summary {
	t.Helper()
	s, err := scenario.Load("matrix", scenarios.Open)
	if err != nil {
		t.Fatal(err)
	}
	axes, err := Axes(s.Variants, only)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := Cells(s, axes)
	if err != nil {
		t.Fatal(err)
	}
	err = Fill(context.Background(), cells, 2, func(p scenario.Plan) (ledger.Summary, error) {
		r, err := sim.Run(p)
		return r.Summary, err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]ledger.Summary{}
	for _, c := range cells {
		out[strings.Join(c.Values, " ")] = c.Summary
	}
	return out
}

// TestTheMatrix holds what the scenario matrix is there to show.
func TestTheMatrix(t *testing.T) {
	need.NoRace(t)
	cells := filled(t)
	if len(cells) != 100 {
		t.Fatalf("%d cells", len(cells))
	}
	requests := map[string]int64{}
	for name, s := range cells {
		if !s.Conservation.OK {
			t.Errorf("%s: %+v", name, s.Conservation)
		}
		v := strings.Fields(name) // server, trigger, work, clients
		if n, seen := requests[v[1]]; seen && n != s.Requests.Total {
			t.Errorf("%s: %d requests, others had %d: the arrivals are not the same", name, s.Requests.Total, n)
		}
		requests[v[1]] = s.Requests.Total
		down := s.Recovery.Verdict == ledger.Collapsed || s.Recovery.Verdict == ledger.Degraded
		switch {
		case v[0] == "cure" && down:
			t.Errorf("%s: %s, but nothing keeps the cure down", name, s.Recovery.Verdict)
		case v[0] == "fifo" && (v[3] == "retries" || v[3] == "backoff") && !down:
			t.Errorf("%s: %s, but retries keep fifo down", name, s.Recovery.Verdict)
		case v[2] == "steady" && v[0] != "fifo" && down:
			t.Errorf("%s: %s, but every discipline cures retries alone", name, s.Recovery.Verdict)
		case v[0] == "fifo" && v[2] == "degrading" && v[3] == "one-try" && !down:
			t.Errorf("%s: %s, but degradation needs no retries", name, s.Recovery.Verdict)
		}
	}
}
