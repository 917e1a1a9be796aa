package app

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/internal/study"
)

// matrixDefault is the scenario of a matrix when none is named.
const matrixDefault = "matrix"

func (c *cli) matrix() *cobra.Command {
	o := runOptions{seeds: 1}
	var only []string
	cmd := &cobra.Command{
		Use:   "matrix [SCENARIO]",
		Short: "Compare disciplines, clients and triggers, each with each, on identical arrivals",
		Long: `Run every combination of the variants of a scenario whose names are AXIS-VALUE, one of each
axis laid over the others, and print one table: a column for each value of the first axis, a
row for each combination of the rest. A cell is the verdict, and the share of requests that
succeeded. The scenario is ` + matrixDefault + ` by default: queue disciplines, the two triggers
(spike, loss of capacity), the two loops (degradation, retries) and what clients do about it.`,
		Example: `  loadgen matrix
  loadgen matrix --only server-fifo,server-deadline,work-steady
  loadgen matrix --engine live --only server-fifo,server-deadline,trigger-spike,work-steady,clients-retries
  loadgen matrix my.yaml --format json`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeScenario(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			return c.runMatrix(cmd.Context(), append(args, matrixDefault)[0], only, &o)
		},
	}
	o.studyFlags(cmd)
	cmd.Flags().StringSliceVar(&only, "only", nil, "of the axes of these `variants`, these alone")
	completeFlags(cmd)
	return cmd
}

func (c *cli) runMatrix(ctx context.Context, name string, only []string, o *runOptions) error {
	s, err := scenario.Load(name, opener(name))
	if err != nil {
		return err
	}
	axes, err := study.Axes(s.Variants, only)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	cells, err := study.Cells(s, axes, o.sets...)
	if err != nil {
		return err
	}
	if o.plan {
		ch := choice{scenario: s}
		for _, cell := range cells {
			ch.plans = append(ch.plans, cell.Plan)
		}
		return c.plan(ctx, []choice{ch}, o)
	}
	invalidities, err := c.fill(ctx, cells, o)
	if err != nil {
		return err
	}
	if o.format == formatJSON {
		err = writeJSON(c, map[string]any{"scenario": s.Name, "engine": o.engine, "axes": axes, "cells": cells})
	} else {
		err = c.showMatrix(s.Name, axes, cells, o)
	}
	return worst(append(invalidities, err))
}

// fill runs the cells: in virtual time on all cores, live one after the other. The
// errors of the first result say which runs are not valid.
func (c *cli) fill(ctx context.Context, cells []study.Cell, o *runOptions) ([]error, error) {
	if o.engine == engineSim {
		return nil, study.Fill(ctx, cells, runtime.GOMAXPROCS(0), func(p scenario.Plan) (ledger.Summary, error) {
			r, err := sim.Run(p)
			return r.Summary, err
		})
	}
	if err := o.remote.resolve(ctx, c); err != nil {
		return nil, err
	}
	var invalid []error
	ran := 0
	err := study.Fill(ctx, cells, 1, func(p scenario.Plan) (ledger.Summary, error) {
		ran++
		c.say("%d of %d: %s", ran, len(cells), p.Variant)
		v, err := c.once(ctx, p, o)
		if err == nil {
			invalid = append(invalid, invalidities(v)...)
		}
		return v.Summary, err
	})
	return invalid, err
}

// showMatrix prints the table. Cells come with the first axis changing fastest: a row
// of the table is as many cells as it has values.
func (c *cli) showMatrix(name string, axes []study.Axis, cells []study.Cell, o *runOptions) error {
	g := report.Grid{Columns: axes[0].Values}
	for _, a := range axes[1:] {
		g.RowAxes = append(g.RowAxes, a.Name)
	}
	for row := range slices.Chunk(cells, len(axes[0].Values)) {
		r := report.GridRow{Values: row[0].Values[1:]}
		for i := range row {
			r.Runs = append(r.Runs, &row[i].Summary)
		}
		g.Rows = append(g.Rows, r)
	}
	if _, err := fmt.Fprintf(c.stdout, "%s (%s), by %s: the verdict, and how many of the requests succeeded\n", name, o.engine, axes[0].Name); err != nil {
		return err
	}
	return report.WriteGrid(c.stdout, g, c.style)
}
