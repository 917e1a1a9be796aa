package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
	"shedload/internal/study"
)

// hysteresisDefault is the scenario of a walk when none is named.
const hysteresisDefault = "hysteresis"

// hysteresisResult is what is printed of one walk.
type hysteresisResult struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	Engine   string `json:"engine"`
	Seed     uint64 `json:"seed"`
	HoldS    int    `json:"hold_s"`
	study.Hysteresis
	Said  string `json:"sentence"`
	Valid bool   `json:"valid"`
}

func (c *cli) hysteresis() *cobra.Command {
	o := runOptions{seeds: 1}
	var w study.Walk
	cmd := &cobra.Command{
		Use:   "hysteresis [SCENARIO[/VARIANT]...]",
		Short: "Walk the load up and down, and find where goodput falls and where it returns",
		Long: `Walk the load of a scenario up in steps and down again, and say at which load goodput
collapses and at which it is back. Where the two differ, the same load can mean a healthy
service or a collapsed one, depending on where it comes from. Phases and faults of the
scenario are left out. By default the load goes from a quarter of capacity to one and a
quarter of it, each step is held for ten patiences, and the scenario is ` + hysteresisDefault + `.`,
		Example: `  loadgen hysteresis
  loadgen hysteresis shed-your-load/deadline --from 40 --to 160 --step 20 --hold 5s
  loadgen hysteresis hysteresis/retries --engine live`,
		ValidArgsFunction: completeScenario(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{hysteresisDefault}
			}
			choices, err := choose(args, o.sets)
			if err != nil {
				return err
			}
			return c.walkAll(cmd.Context(), choices, w, &o)
		},
	}
	f := cmd.Flags()
	o.studyFlags(cmd)
	f.Float64Var(&w.From, "from", 0, "lowest load, new requests per second (default a quarter of capacity)")
	f.Float64Var(&w.To, "to", 0, "highest load (default one and a quarter of capacity)")
	f.Float64Var(&w.Step, "step", 0, "from one load to the next (default an eighth of capacity)")
	f.DurationVar(&w.Hold, "hold", 0, "how long each load is held (default ten patiences)")
	completeFlags(cmd)
	return cmd
}

// studyFlags are the flags of commands that make many runs to find one thing.
func (o *runOptions) studyFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.engine, "engine", engineSim, "sim: virtual time; live: real processes over HTTP")
	f.StringArrayVar(&o.sets, "set", nil, "change a value of the scenario, `path=value`; repeatable")
	f.Uint64Var(&o.seed, "seed", 0, "all randomness follows from it (default: the scenario's)")
	f.StringVar(&o.format, "format", formatTable, "table or json")
	f.BoolVar(&o.plan, "plan", false, "say how long it takes and what it needs, and stop")
	o.remote.flags(cmd)
}

// walkOf fills in what the flags leave open.
func walkOf(w study.Walk, p scenario.Plan) study.Walk {
	d := study.WalkOf(p)
	for _, x := range []struct{ to, from *float64 }{{&w.From, &d.From}, {&w.To, &d.To}, {&w.Step, &d.Step}} {
		if *x.to == 0 {
			*x.to = *x.from
		}
	}
	if w.Hold == 0 {
		w.Hold = d.Hold
	}
	return w
}

func (c *cli) walkAll(ctx context.Context, choices []choice, flags study.Walk, o *runOptions) error {
	var walks []study.Walk
	for i, ch := range choices {
		choices[i].plans = c.worthwhile(ch, o)
		for j, p := range choices[i].plans {
			w := walkOf(flags, p)
			plan, err := w.Plan(p)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", p.Scenario, p.Variant, err)
			}
			choices[i].plans[j] = plan
			walks = append(walks, w)
		}
	}
	if o.plan {
		return c.plan(ctx, choices, o)
	}
	if o.engine == engineLive {
		if err := o.remote.resolve(ctx, c); err != nil {
			return err
		}
	}
	var results []hysteresisResult
	var errs []error
	for _, ch := range choices {
		for _, p := range ch.plans {
			r, err := c.walk(ctx, p, walks[len(results)], o)
			if err != nil {
				return worst(append(errs, err))
			}
			results = append(results, r.result)
			errs = append(errs, r.invalid...)
			if o.format != formatJSON {
				errs = append(errs, c.showWalk(r.result))
			}
		}
	}
	if o.format == formatJSON {
		errs = append(errs, writeJSON(c, map[string]any{"walks": results}))
	}
	return worst(errs)
}

// walked is a walk, and why it is no result, if it is none.
type walked struct {
	result  hysteresisResult
	invalid []error
}

func (c *cli) walk(ctx context.Context, p scenario.Plan, w study.Walk, o *runOptions) (walked, error) {
	v, err := c.once(ctx, p, o)
	if err != nil {
		return walked{}, err
	}
	h, err := w.Read(v.Rows)
	if err != nil {
		return walked{}, invalid(errors.Join(append(invalidities(v), fmt.Errorf("%s/%s: %w", p.Scenario, p.Variant, err))...))
	}
	return walked{hysteresisResult{
		Scenario: p.Scenario, Variant: p.Variant, Engine: o.engine, Seed: uint64(p.Seed), HoldS: int(w.Hold / time.Second),
		Hysteresis: h, Said: h.Sentence(), Valid: v.Valid(),
	}, invalidities(v)}, nil
}

// once runs a plan without a record.
func (c *cli) once(ctx context.Context, p scenario.Plan, o *runOptions) (report.Variant, error) {
	if o.engine == engineSim {
		return c.simulate(ctx, p, o)
	}
	return c.live(ctx, p, o, func(ledger.Rows) error { return nil })
}

// showWalk prints a walk: the picture, the rests, and what it means.
func (c *cli) showWalk(r hysteresisResult) error {
	n := (len(r.Rests) + 1) / 2
	l := report.Loop{Name: r.Scenario + "/" + r.Variant + " (" + r.Engine + ")", From: r.Rests[0].Load, To: r.Rests[n-1].Load}
	rows := make([]report.LoopRow, n)
	for i := range n {
		up, down := r.Rests[i], r.Rests[len(r.Rests)-1-i]
		l.Up, l.Down = append(l.Up, up.Goodput), append(l.Down, down.Goodput)
		rows[i] = report.LoopRow{Load: up.Load, Up: sideOf(up), Down: sideOf(down)}
	}
	if err := report.WriteLoop(c.stdout, l, c.style); err != nil {
		return err
	}
	if err := report.WriteLoopTable(c.stdout, rows, c.style); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "%s: %s\n\n", r.Variant, r.Said)
	return err
}

func sideOf(r study.Rest) report.LoopSide {
	return report.LoopSide{Offered: r.Offered, Throughput: r.Throughput, Goodput: r.Goodput, Level: r.Level, Queue: r.Queue}
}
