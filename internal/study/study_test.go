package study

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// toss is an engine whose runs depend on the seed alone: of a plan with horizon x
// seconds the run collapses when a draw of its seed falls below p(x).
func toss(p func(x float64) float64) Engine {
	return func(plan scenario.Plan) (ledger.Summary, error) {
		rnd := plan.Seed.For(draw.Key{})
		s := ledger.Summary{Throughput: int64(plan.Seed)}
		s.Recovery.Verdict, s.Recovery.UsersVerdict = ledger.Recovered, ledger.Undecided
		if rnd.Float64() < p(plan.Horizon.Seconds()) {
			s.Recovery.Verdict = ledger.Collapsed
		}
		return s, nil
	}
}

func TestSeedsComeInOrderOnAnyNumberOfCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	p := scenario.Plan{Seed: 7, Horizon: time.Second}
	var first []ledger.Summary
	for _, cores := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(cores)
		runs, err := Seeds(context.Background(), p, 50, toss(func(float64) float64 { return 0.5 }))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = runs
		}
		if !reflect.DeepEqual(runs, first) {
			t.Fatalf("%d cores give other runs", cores)
		}
	}
	for i, s := range first {
		if s.Throughput != int64(7+i) {
			t.Errorf("run %d is of seed %d", i, s.Throughput)
		}
	}
}

func TestSeedsStop(t *testing.T) {
	broken := errors.New("broken")
	_, err := Seeds(context.Background(), scenario.Plan{}, 5, func(p scenario.Plan) (ledger.Summary, error) {
		if p.Seed == 3 {
			return ledger.Summary{}, broken
		}
		return ledger.Summary{}, nil
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "seed 3") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(broken)
	if _, err := Seeds(ctx, scenario.Plan{}, 5, toss(func(float64) float64 { return 0 })); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestSpreadAndFate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 100), 1, 20).Draw(t, "values")
		var runs []ledger.Summary
		for _, v := range values {
			runs = append(runs, ledger.Summary{Throughput: v})
		}
		got := SpreadOf(runs, func(s *ledger.Summary) float64 { return float64(s.Throughput) })
		below, above := 0, 0
		for _, v := range values {
			if float64(v) < got.Median {
				below++
			}
			if float64(v) > got.Median {
				above++
			}
		}
		if 2*below > len(values) || 2*above > len(values) || got.Min != float64(slices.Min(values)) || got.Max != float64(slices.Max(values)) {
			t.Fatalf("%v of %v", got, values)
		}
	})
	if got := SpreadOf(nil, nil); got != (Spread{}) {
		t.Errorf("spread of nothing is %v", got)
	}
	var runs []ledger.Summary
	for _, v := range []string{ledger.Steady, ledger.Recovered, ledger.Collapsed, ledger.Degraded, ledger.Collapsed, ledger.Undecided} {
		s := ledger.Summary{}
		s.Recovery.Verdict, s.Recovery.UsersVerdict = v, ledger.Undecided
		runs = append(runs, s)
	}
	if f := FateOf(runs, false); f != (Fate{3, 1, 6}) || f.StaysDown() != 0.6 {
		t.Errorf("fate %+v, stays down %v", f, f.StaysDown())
	}
	if f := FateOf(runs, true); f != (Fate{0, 6, 6}) || f.StaysDown() != 0.5 {
		t.Errorf("fate %+v, stays down %v", f, f.StaysDown())
	}
}

func TestParseRange(t *testing.T) {
	for text, want := range map[string]Range{
		"1s..20s":     {1, 20, 0.148, durations},
		"10ms..50ms":  {0.01, 0.05, 0.001, durations},
		"50..400":     {50, 400, 3, wholeNumbers},
		"1..4":        {1, 4, 1, wholeNumbers},
		"0.5..0.9":    {0.5, 0.9, 0.4 / 128, numbers},
		" 0s .. 1m ":  {0, 60, 0.469, durations},
		"1e2..200":    {100, 200, 100.0 / 128, numbers},
		"-2..2":       {-2, 2, 1, wholeNumbers},
		"500ms..1.5s": {0.5, 1.5, 0.008, durations},
	} {
		got, err := ParseRange(text)
		if err != nil || fmt.Sprintf("%.9v", got) != fmt.Sprintf("%.9v", want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1s", "1s..", "..2s", "2s..1s", "1s..1s", "1s..2", "1..2s", "a..b", "1..inf", "nan..1", "0..1s"} {
		if r, err := ParseRange(text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
	r, _ := ParseRange("1s..20s")
	if r.Text(r.Round(4.5678)) != "4.568s" {
		t.Errorf("text is %s", r.Text(r.Round(4.5678)))
	}
	w, _ := ParseRange("50..400")
	if w.Text(w.Round(77.6)) != "78" {
		t.Errorf("text is %s", w.Text(w.Round(77.6)))
	}
}

func find(t *testing.T, text string, seeds int, p func(float64) float64) Tip {
	t.Helper()
	r, err := ParseRange(text)
	if err != nil {
		t.Fatal(err)
	}
	tip, err := FindTip(context.Background(), TipConfig{
		Range: r, Seeds: seeds, Engine: toss(p),
		Plan: func(value string) (scenario.Plan, error) {
			d, err := time.ParseDuration(value)
			return scenario.Plan{Seed: 1, Horizon: d}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(tip.Points, func(a, b Point) int {
		if a.X < b.X {
			return -1
		}
		return 1
	}) {
		t.Errorf("points are not in order: %+v", tip.Points)
	}
	return tip
}

func TestTipIsFoundWhereItIs(t *testing.T) {
	sharp := func(at float64) func(float64) float64 {
		return func(x float64) float64 {
			if x >= at {
				return 1
			}
			return 0
		}
	}
	rapid.Check(t, func(t2 *rapid.T) {
		at := rapid.Float64Range(1.01, 19.9).Draw(t2, "at")
		tip := find(t, "1s..20s", 1, sharp(at))
		if !tip.Found || tip.Half < at-0.16 || tip.Half > at+0.16 {
			t2.Fatalf("found %v at %v, is at %v", tip.Found, tip.Half, at)
		}
		if n := len(tip.Points); n > 12 {
			t2.Fatalf("%d values were tried", n)
		}
	})
	if tip := find(t, "1s..20s", 1, sharp(30)); tip.Found || tip.Half != 0 || len(tip.Points) != coarse {
		t.Errorf("found %+v where none is", tip)
	}
	// A setting that saves when it grows, and a soft tip.
	soft := find(t, "1s..20s", 400, func(x float64) float64 { return min(1, max(0, (16-x)/8)) })
	if !soft.Found || soft.Half < 11 || soft.Half > 13 {
		t.Errorf("found %v at %v, is at 12", soft.Found, soft.Half)
	}
}

func TestCompare(t *testing.T) {
	predicted := ledger.Summary{Throughput: 1000, Goodput: 500}
	predicted.Peak.Queue = 300
	predicted.Recovery.Verdict = ledger.Collapsed
	measured := predicted
	measured.View, measured.Variant = "both", "fifo"
	if d := Compare(predicted, measured, nil); !d.OK() || d.Variant != "fifo" || len(d.Figures) != len(metrics) {
		t.Errorf("no difference is %+v", d)
	}
	for _, c := range []struct {
		name   string
		change func(*ledger.Summary)
		t      Tolerances
		ok     bool
	}{
		{"within five per cent", func(s *ledger.Summary) { s.Throughput = 1049 }, nil, true},
		{"beyond", func(s *ledger.Summary) { s.Throughput = 1051 }, nil, false},
		{"below", func(s *ledger.Summary) { s.Throughput = 949 }, nil, false},
		{"beyond, but allowed", func(s *ledger.Summary) { s.Throughput = 1051 }, Tolerances{"throughput": 6}, true},
		{"peak within ten", func(s *ledger.Summary) { s.Peak.Queue = 329 }, nil, true},
		{"peak beyond ten", func(s *ledger.Summary) { s.Peak.Queue = 331 }, nil, false},
		{"a few from nothing", func(s *ledger.Summary) { s.Requests.GaveUp = 20 }, nil, true},
		{"many from nothing", func(s *ledger.Summary) { s.Requests.GaveUp = 21 }, nil, false},
		{"a latency is not judged", func(s *ledger.Summary) { s.LatencyMS.Served.P50 = 99 }, nil, true},
		{"a latency is judged", func(s *ledger.Summary) { s.LatencyMS.Served.P50 = 99 }, Tolerances{"served_p50_ms": 5}, false},
		{"another verdict", func(s *ledger.Summary) { s.Recovery.Verdict = ledger.Degraded }, nil, false},
		{"no server's view", func(s *ledger.Summary) { s.View, s.Throughput, s.Goodput = "client", 0, 0 }, nil, true},
	} {
		m := measured
		c.change(&m)
		if d := Compare(predicted, m, c.t); d.OK() != c.ok {
			t.Errorf("%s: ok %v: %+v", c.name, d.OK(), d)
		}
	}
}

func TestParseTolerances(t *testing.T) {
	got, err := ParseTolerances("throughput=5, peak_queue=12.5%")
	if want := (Tolerances{"throughput": 5, "peak_queue": 12.5}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err := ParseTolerances(""); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{"throughput": "is written", "throughput=x": "is written", "throughput=-1": "is written", "thruput=5": "unknown metric"} {
		if _, err := ParseTolerances(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
