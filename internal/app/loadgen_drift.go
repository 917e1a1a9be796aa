package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"shedload/internal/report"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/internal/study"
)

// driftResult is what is printed of one comparison.
type driftResult struct {
	Scenario string `json:"scenario"`
	study.Drift
	OK    bool `json:"ok"`
	Valid bool `json:"valid"` // the live run is a result
}

func (c *cli) drift() *cobra.Command {
	o := runOptions{engine: engineLive, seeds: 1}
	var text string
	cmd := &cobra.Command{
		Use:   "drift SCENARIO[/VARIANT]...",
		Short: "Hold real processes to what virtual time predicts",
		Long: `Run scenarios on real processes and, with the same arrivals, in virtual time, and say
metric by metric what was predicted, what was measured, and how far apart they are. Exit 1
where a difference is beyond its tolerance.`,
		Example: `  loadgen drift shed-your-load
  loadgen drift shed-your-load-short/deadline --tolerance throughput=2,served_p99_ms=20
  loadgen drift metastable-overload/live-no-retries --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("drift of what? name a scenario (loadgen scenarios lists them) or a file")
			}
			return nil
		},
		ValidArgsFunction: completeScenario(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			tolerances, err := study.ParseTolerances(text)
			if err != nil {
				return fmt.Errorf("--tolerance: %w", err)
			}
			choices, err := choose(args, o.sets)
			if err != nil {
				return err
			}
			if o.plan {
				return c.plan(cmd.Context(), choices, &o)
			}
			return c.driftAll(cmd.Context(), choices, tolerances, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&text, "tolerance", "", "allowed differences in per cent, `metric=percent,...`")
	f.StringArrayVar(&o.sets, "set", nil, "change a value of the scenario, `path=value`; repeatable")
	f.Uint64Var(&o.seed, "seed", 0, "all randomness follows from it (default: the scenario's)")
	f.StringVar(&o.format, "format", formatTable, "table or json")
	f.BoolVar(&o.plan, "plan", false, "say how long it takes and what it needs, and stop")
	o.remote.flags(cmd)
	completeFlags(cmd)
	return cmd
}

func (c *cli) driftAll(ctx context.Context, choices []choice, t study.Tolerances, o *runOptions) error {
	if err := o.remote.resolve(ctx, c); err != nil {
		return err
	}
	var results []driftResult
	var errs []error
	for _, ch := range choices {
		for _, p := range c.worthwhile(ch, o) {
			measured, err := c.once(ctx, p, o)
			if err != nil {
				return worst(append(errs, err))
			}
			r, err := drifted(p, measured, t)
			if err != nil {
				return worst(append(errs, err))
			}
			results = append(results, r)
			if o.format != formatJSON {
				errs = append(errs, c.showDrift(r))
			}
			errs = append(errs, invalidities(measured)...)
			if !r.OK {
				errs = append(errs, failure{exitExpectation, fmt.Errorf("%s/%s: measured and predicted differ beyond the tolerances", p.Scenario, p.Variant)})
			}
		}
	}
	if len(results) == 0 {
		return errors.New("no variant is worth a live run: name one")
	}
	if o.format == formatJSON {
		errs = append(errs, writeJSON(c, map[string]any{"drifts": results}))
	}
	return worst(errs)
}

// drifted holds a measurement to its prediction.
func drifted(p scenario.Plan, measured report.Variant, t study.Tolerances) (driftResult, error) {
	predicted, err := sim.Run(p)
	if err != nil {
		return driftResult{}, err
	}
	d := study.Compare(predicted.Summary, measured.Summary, t)
	return driftResult{Scenario: p.Scenario, Drift: d, OK: d.OK(), Valid: measured.Valid()}, nil
}

func (c *cli) showDrift(r driftResult) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{r.Scenario + "/" + r.Variant, "predicted", "measured", "difference", "allowed", ""})
	var columns []table.ColumnConfig
	for n := 2; n <= 5; n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, f := range r.Figures {
		allowed := "not judged"
		if f.Tolerance != nil {
			allowed = "± " + plain(*f.Tolerance) + " %"
		}
		t.AppendRow(table.Row{f.Metric, plain(f.Predicted), plain(f.Measured), fmt.Sprintf("%+.1f %%", f.Percent), allowed, mark(f.OK)})
	}
	for _, v := range r.Verdicts {
		t.AppendRow(table.Row{v.Metric, v.Predicted, v.Measured, "", "the same", mark(v.OK)})
	}
	_, err := fmt.Fprintf(c.stdout, "%s\n", t.Render())
	return err
}

// plain writes a number with at most two decimals.
func plain(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return report.Count(int64(x))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func mark(ok bool) string {
	if ok {
		return "ok"
	}
	return "BEYOND"
}
