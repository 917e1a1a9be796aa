package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/internal/study"
)

// tipResult is what is printed of one search.
type tipResult struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	Setting  string `json:"setting"`
	Seeds    int    `json:"seeds"` // of each value
	Users    bool   `json:"users"`
	study.Tip
	Said string `json:"sentence"`
}

func (c *cli) tip() *cobra.Command {
	o := runOptions{engine: engineSim, seeds: 1}
	var vary string
	var users bool
	cmd := &cobra.Command{
		Use:   "tip SCENARIO[/VARIANT]... --vary path=LOW..HIGH",
		Short: "Find the value of a setting at which a system stays down",
		Long: `Try values of one setting, each with several seeds in virtual time, and find the one
at which half of the runs stay down (collapsed or degraded) once the trigger is over. The
share that stays down is printed against the value. A tipping point is a band, not a line:
within it the seed decides.`,
		Example: `  loadgen tip shed-your-load/fifo --vary phases.spike.for=100ms..2s
  loadgen tip shed-your-load/fifo --vary phases.spike.rate=60..200 --seeds 32
  loadgen tip metastable-overload/as-published --vary faults.0.for=1s..20s --seeds 1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("tip what? name a scenario (loadgen scenarios lists them) or a file")
			}
			return nil
		},
		ValidArgsFunction: completeScenario(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			path, values, ok := strings.Cut(vary, "=")
			if !ok || path == "" {
				return fmt.Errorf("--vary %q: is written path=LOW..HIGH, such as phases.spike.for=1s..20s", vary)
			}
			r, err := study.ParseRange(values)
			if err != nil {
				return fmt.Errorf("--vary %s: %w", path, err)
			}
			choices, err := choose(args, o.sets)
			if err != nil {
				return err
			}
			return c.tipAll(cmd.Context(), choices, search{path, r, users}, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&vary, "vary", "", "the setting and the range of its values, `path=LOW..HIGH`")
	f.IntVar(&o.seeds, "seeds", 16, "how many seeds each value is tried with")
	f.BoolVar(&users, "users", false, "ask whether users stay down, instead of goodput")
	f.StringArrayVar(&o.sets, "set", nil, "change a value of the scenario, `path=value`; repeatable")
	f.Uint64Var(&o.seed, "seed", 0, "the first seed (default: the scenario's)")
	f.StringVar(&o.format, "format", formatTable, "table or json")
	must(cmd.MarkFlagRequired("vary"))
	completeFlags(cmd)
	return cmd
}

// search is what to look for.
type search struct {
	path   string
	values study.Range
	users  bool
}

func (c *cli) tipAll(ctx context.Context, choices []choice, s search, o *runOptions) error {
	var results []tipResult
	for _, ch := range choices {
		for _, p := range ch.plans {
			r, err := c.tipOf(ctx, ch.scenario, p, s, o)
			if err != nil {
				return err
			}
			results = append(results, r)
			if o.format != formatJSON {
				if err := c.showTip(r); err != nil {
					return err
				}
			}
		}
	}
	if o.format == formatJSON {
		return writeJSON(c, map[string]any{"tips": results})
	}
	return nil
}

func (c *cli) tipOf(ctx context.Context, from *scenario.Scenario, p scenario.Plan, s search, o *runOptions) (tipResult, error) {
	tip, err := study.FindTip(ctx, study.TipConfig{
		Range: s.values, Seeds: o.seeds, Users: s.users,
		Plan: func(value string) (scenario.Plan, error) {
			plans, err := from.Plans([]string{p.Variant}, append(append([]string{}, o.sets...), s.path+"="+value)...)
			if err != nil {
				return scenario.Plan{}, err
			}
			return plans[0], nil
		},
		Engine: func(p scenario.Plan) (ledger.Summary, error) {
			r, err := sim.Run(p)
			return r.Summary, err
		},
		Tried: func(at study.Point) {
			c.say("%s: %s=%s: %d of %d stay down", p.Variant, s.path, at.Value, at.Down, at.Runs)
		},
	})
	if err != nil {
		return tipResult{}, err
	}
	r := tipResult{Scenario: p.Scenario, Variant: p.Variant, Setting: s.path, Seeds: o.seeds, Users: s.users, Tip: tip}
	r.Said = r.sentence()
	return r, nil
}

func (r tipResult) sentence() string {
	first, last := r.Points[0], r.Points[len(r.Points)-1]
	who := "runs"
	if r.Users {
		who = "runs' users"
	}
	if !r.Found {
		return fmt.Sprintf("No tipping point of %s between %s and %s: of the %s %.0f %% and %.0f %% stay down there.",
			r.Setting, first.Value, last.Value, who, 100*first.P, 100*last.P)
	}
	return fmt.Sprintf("Half of the %s stay down at %s=%s (%.0f %% at %s, %.0f %% at %s).",
		who, r.Setting, r.HalfText, 100*r.at(r.Between[0]).P, r.Between[0], 100*r.at(r.Between[1]).P, r.Between[1])
}

func (r tipResult) at(value string) study.Point {
	for _, p := range r.Points {
		if p.Value == value {
			return p
		}
	}
	return study.Point{}
}

// showTip prints the share that stays down against the value.
func (c *cli) showTip(r tipResult) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{r.Setting, "stays down", "", "of", "undecided"})
	right := table.ColumnConfig{Align: text.AlignRight, AlignHeader: text.AlignRight}
	var columns []table.ColumnConfig
	for _, n := range []int{1, 2, 4, 5} {
		right.Number = n
		columns = append(columns, right)
	}
	t.SetColumnConfigs(columns)
	const width = 20
	for _, p := range r.Points {
		bar := strings.Repeat("█", int(p.P*width+0.5))
		t.AppendRow(table.Row{p.Value, fmt.Sprintf("%.0f %%", 100*p.P), fmt.Sprintf("%-*s", width, bar), p.Runs, p.Undecided})
	}
	_, err := fmt.Fprintf(c.stdout, "%s/%s\n%s\n%s\n\n", r.Scenario, r.Variant, t.Render(), r.Said)
	return err
}
