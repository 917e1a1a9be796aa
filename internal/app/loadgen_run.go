package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"shedload/internal/report"
	"shedload/internal/scenario"
)

// The engines.
const (
	engineLive = "live"
	engineSim  = "sim"
)

// The formats of results.
const (
	formatTable = "table"
	formatJSON  = "json"
)

// runOptions are the flags of commands that run scenarios.
type runOptions struct {
	engine string
	sets   []string
	seed   uint64
	seeds  int
	out    string
	format string
	check  bool
	plan   bool
	rows   bool // print a line for each variant, instead of columns
	remote remoteOptions
	ci     ciOptions

	// command is what was typed, for the manifest.
	command []string
	// before is told of each variant that is about to run, after of all when they have
	// been printed. Nil tells nobody.
	before func(i int, p scenario.Plan)
	after  func(vs []report.Variant) error
	// unmet are the expectations that seeds after the first did not meet.
	unmet []error
}

func (o *runOptions) flags(cmd *cobra.Command, engine string) {
	f := cmd.Flags()
	f.StringVar(&o.engine, "engine", engine, "live: real processes over HTTP; sim: virtual time")
	f.StringArrayVar(&o.sets, "set", nil, "change a value of the scenario, `path=value`, as server.drop_margin=55ms; repeatable")
	f.Uint64Var(&o.seed, "seed", 0, "all randomness follows from it (default: the scenario's)")
	f.IntVar(&o.seeds, "seeds", 1, "run so many seeds of each variant, in parallel (sim only)")
	f.StringVar(&o.out, "out", "", "folder for the record (default runs/SCENARIO-DATE-TIME)")
	f.StringVar(&o.format, "format", formatTable, "table or json")
	f.BoolVar(&o.check, "check", false, "hold the results against what the scenario expects: exit 1 where they differ")
	f.BoolVar(&o.plan, "plan", false, "say how long it takes and what it needs, and stop")
	o.remote.flags(cmd)
	o.ci.flags(cmd)
}

// validate says what about the flags is impossible, and completes sets.
func (o *runOptions) validate(cmd *cobra.Command) error {
	if !slices.Contains([]string{engineLive, engineSim}, o.engine) {
		return fmt.Errorf("--engine: %s", scenario.Unknown("engine", o.engine, []string{engineLive, engineSim}))
	}
	_, err := o.remote.plain.request()
	if err := errors.Join(validFormat(o.format), o.ci.validate(), err); err != nil {
		return err
	}
	switch {
	case o.seeds < 1 || o.seeds > 100_000:
		return fmt.Errorf("--seeds %d: allowed are 1 to 100000", o.seeds)
	case o.seeds > 1 && o.engine == engineLive:
		return errors.New("--seeds: live runs take one seed at a time; use --engine sim, or --seed")
	case o.engine == engineSim && o.remote.target != "":
		return errors.New("--target: virtual time has no target; use --engine live")
	}
	if cmd.Flags().Changed("seed") {
		o.sets = append(o.sets, fmt.Sprintf("seed=%d", o.seed))
	}
	return nil
}

func validFormat(format string) error {
	if !slices.Contains([]string{formatTable, formatJSON}, format) {
		return fmt.Errorf("--format: %s", scenario.Unknown("format", format, []string{formatTable, formatJSON}))
	}
	return nil
}

func (c *cli) run() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run SCENARIO[/VARIANT]...",
		Short: "Run scenarios, and keep a record of each",
		Long: `Run scenarios: all default variants, or those that are named (margin-* for several).
A scenario is a name (see loadgen scenarios) or a YAML file. The live engine starts an
apiserver and a backend of its own on free loopback ports, unless --target names a
running system; the sim engine runs the same policies in virtual time, in a second.`,
		Example: `  loadgen run shed-your-load
  loadgen run shed-your-load/fifo shed-your-load/deadline --check
  loadgen run shed-your-load --engine sim --seeds 64
  loadgen run shed-your-load-short/deadline --set server.drop_margin=auto
  loadgen run my.yaml --target http://127.0.0.1:8080 --admin http://127.0.0.1:9100
  loadgen run shed-your-load --plan`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("run what? name a scenario (loadgen scenarios lists them) or a file")
			}
			return nil
		},
		ValidArgsFunction: completeScenario(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			choices, err := choose(args, o.sets)
			if err != nil {
				return err
			}
			o.command = append([]string{"run"}, args...)
			if o.plan {
				return c.plan(cmd.Context(), choices, &o)
			}
			_, err = c.runAll(cmd.Context(), choices, &o)
			return err
		},
	}
	o.flags(cmd, engineLive)
	completeFlags(cmd)
	return cmd
}

// runAll runs the choices one after the other and prints what came out.
func (c *cli) runAll(ctx context.Context, choices []choice, o *runOptions) ([]report.Variant, error) {
	if o.engine == engineLive {
		if err := o.remote.resolve(ctx, c); err != nil {
			return nil, err
		}
	}
	var all []report.Variant
	var errs []error
	for _, ch := range choices {
		out := o.out
		if out != "" && len(choices) > 1 {
			out = filepath.Join(out, ch.scenario.Name)
		}
		vs, err := c.runChoice(ctx, ch, o, out)
		all = append(all, vs...)
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	if o.format == formatJSON {
		errs = append(errs, report.WriteJSON(c.stdout, report.Document{Variants: all}))
	}
	return all, worst(append(errs, o.ci.write()))
}

// worst joins errors under the exit code of the most serious one.
func worst(errs []error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	code := 0
	for _, e := range errs {
		var f failure
		switch {
		case errors.As(e, &f):
			code = max(code, f.code)
		case e != nil:
			code = max(code, exitUsage)
		}
	}
	return failure{code, err}
}

// runChoice runs the variants of one scenario, records them, and prints them unless
// JSON is asked for.
func (c *cli) runChoice(ctx context.Context, ch choice, o *runOptions, out string) ([]report.Variant, error) {
	plans := c.worthwhile(ch, o)
	if len(plans) == 0 {
		return nil, fmt.Errorf("%s: no variant is worth a live run; use --engine sim, or name one", ch.scenario.Name)
	}
	record, err := c.record(ch, plans, o, out)
	if err != nil {
		return nil, err
	}
	var vs []report.Variant
	var failed error
	started := c.now()
	for i, p := range plans {
		if o.before != nil {
			o.before(i, p)
		}
		v, err := c.runPlan(ctx, p, o, record)
		if err != nil {
			failed = err
			break
		}
		vs = append(vs, v)
		if failed = record.Add(v); failed != nil || ctx.Err() != nil {
			break
		}
	}
	c.note(outcome{ch, plans, vs, started, failed}, o)
	if len(vs) == 0 && failed != nil {
		return nil, errors.Join(failed, record.Discard())
	}
	errs := []error{failed, ctx.Err(), tables(record, ch.scenario, plans, vs)}
	errs = append(errs, record.Close(len(vs) < len(plans)))
	if o.format == formatJSON {
		c.say("record: %s", record.Dir())
	} else {
		errs = append(errs, c.print(vs, o, record.Dir()))
	}
	errs = append(errs, c.judge(ch.scenario, plans, vs, o)...)
	return vs, worst(errs)
}

// worthwhile leaves out variants that the scenario says are not worth a live run,
// unless they were asked for by name.
func (c *cli) worthwhile(ch choice, o *runOptions) []scenario.Plan {
	if o.engine != engineLive {
		return ch.plans
	}
	var out []scenario.Plan
	for _, p := range ch.plans {
		if p.Live.Skip != "" && !ch.named[p.Variant] {
			c.say("%s/%s: not run live, because %s", p.Scenario, p.Variant, p.Live.Skip)
			continue
		}
		out = append(out, p)
	}
	return out
}

// runPlan runs one plan with the engine of the options.
func (c *cli) runPlan(ctx context.Context, p scenario.Plan, o *runOptions, record *report.Record) (report.Variant, error) {
	if err := record.Begin(p.Variant); err != nil {
		return report.Variant{}, invalid(err)
	}
	if o.engine == engineSim {
		return c.simulate(ctx, p, o)
	}
	return c.live(ctx, p, o, record.Append)
}

// judge says whether the runs are valid and, if asked, as expected.
func (c *cli) judge(s *scenario.Scenario, plans []scenario.Plan, vs []report.Variant, o *runOptions) []error {
	var errs []error
	for _, v := range vs {
		errs = append(errs, invalidities(v)...)
	}
	if o.check {
		errs = append(errs, c.checkAll(s, plans, vs, o)...)
	}
	return errs
}

// invalidities say why a run is not a result.
func invalidities(v report.Variant) []error {
	var errs []error
	name := v.Scenario + "/" + v.Variant
	if v.Incident != "" {
		errs = append(errs, invalid(fmt.Errorf("%s is partial: %s", name, v.Incident)))
	}
	switch {
	case !v.Generator.Delivered:
		errs = append(errs, invalid(fmt.Errorf("%s is not a result: %d of %d sends were missed (allowed are 0.1 %%); the machine was too busy", name, v.Generator.Missed, v.Generator.Sends)))
	case !v.Conservation.OK:
		errs = append(errs, invalid(fmt.Errorf("%s is not a result: the sums do not add up: %+v", name, v.Conservation)))
	}
	return errs
}
