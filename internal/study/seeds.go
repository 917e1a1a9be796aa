// Package study asks questions that take many runs: how a result spreads over
// seeds, at which value of a setting a system tips over, and how far a
// prediction and a measurement lie apart.
package study

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// Engine runs a plan. It is called from several goroutines at once.
type Engine func(scenario.Plan) (ledger.Summary, error)

// Seeds runs p with n seeds, its own and those that follow, on all cores. Result i
// is that of seed p.Seed+i, whatever the number of cores. Runs under way when ctx
// ends are finished, and its cause is the error.
func Seeds(ctx context.Context, p scenario.Plan, n int, engine Engine) ([]ledger.Summary, error) {
	out := make([]ledger.Summary, n)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			q := p
			q.Seed += draw.Seed(i)
			var err error
			if out[i], err = engine(q); err != nil {
				return fmt.Errorf("seed %d: %w", q.Seed, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// Spread is a figure over several runs.
type Spread struct{ Median, Min, Max float64 }

// SpreadOf sums up a figure of each run; zeros when there is none. With an even
// number of runs the median lies half way between the two in the middle.
func SpreadOf(runs []ledger.Summary, figure func(*ledger.Summary) float64) Spread {
	n := len(runs)
	if n == 0 {
		return Spread{}
	}
	values := make([]float64, n)
	for i := range runs {
		values[i] = figure(&runs[i])
	}
	slices.Sort(values)
	return Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1]}
}

// Fate counts how runs ended.
type Fate struct {
	// Down counts the runs that stayed down: collapsed or degraded.
	Down int `json:"down"`
	// Undecided counts those that ended too early to tell.
	Undecided int `json:"undecided"`
	Runs      int `json:"runs"`
}

// FateOf counts verdicts, by users' or by goodput's.
func FateOf(runs []ledger.Summary, users bool) Fate {
	f := Fate{Runs: len(runs)}
	for i := range runs {
		verdict := runs[i].Recovery.Verdict
		if users {
			verdict = runs[i].Recovery.UsersVerdict
		}
		switch verdict {
		case ledger.Collapsed, ledger.Degraded:
			f.Down++
		case ledger.Undecided:
			f.Undecided++
		}
	}
	return f
}

// StaysDown is the share that stayed down of the runs that were decided; one half
// when none was.
func (f Fate) StaysDown() float64 {
	decided := f.Runs - f.Undecided
	if decided == 0 {
		return 0.5
	}
	return float64(f.Down) / float64(decided)
}
