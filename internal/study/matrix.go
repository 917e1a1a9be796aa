package study

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// Axis is one choice of a matrix, with what can be chosen.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// maxCells bounds a matrix.
const maxCells = 10_000

// Axes reads the axes off the names of variants, AXIS-VALUE, in their order. Of only,
// which is the names of variants too, each axis that is in it is cut down to those.
func Axes(variants, only []string) ([]Axis, error) {
	var axes []Axis
	for _, name := range variants {
		axis, value, ok := strings.Cut(name, "-")
		if !ok || axis == "" || value == "" {
			return nil, fmt.Errorf("variant %s: a matrix is made of variants whose names are AXIS-VALUE, such as server-fifo", name)
		}
		i := slices.IndexFunc(axes, func(a Axis) bool { return a.Name == axis })
		if i < 0 {
			i = len(axes)
			axes = append(axes, Axis{Name: axis})
		}
		if wanted(axis, name, only) {
			axes[i].Values = append(axes[i].Values, value)
		}
	}
	for _, name := range only {
		if !slices.Contains(variants, name) {
			return nil, fmt.Errorf("%s", scenario.Unknown("variant", name, variants))
		}
	}
	cells := 1
	for _, a := range axes {
		if cells *= len(a.Values); cells > maxCells {
			return nil, fmt.Errorf("more than %d cells: choose some variants only", maxCells)
		}
	}
	if len(axes) < 2 {
		return nil, fmt.Errorf("a matrix has two axes or more: there are variants of %d", len(axes))
	}
	return axes, nil
}

func wanted(axis, name string, only []string) bool {
	limited := false
	for _, o := range only {
		if o == name {
			return true
		}
		limited = limited || strings.HasPrefix(o, axis+"-")
	}
	return !limited
}

// Cell is one combination, a value of each axis.
type Cell struct {
	Values  []string       `json:"values"` // in the order of the axes
	Plan    scenario.Plan  `json:"-"`
	Summary ledger.Summary `json:"summary"`
}

// Cells makes the plan of every combination of the axes of s. The value of the first
// axis changes fastest, then that of the last, and so on back to the second.
func Cells(s *scenario.Scenario, axes []Axis, sets ...string) ([]Cell, error) {
	var cells []Cell
	for _, values := range combinations(axes) {
		names := make([]string, len(axes))
		for i, a := range axes {
			names[i] = a.Name + "-" + values[i]
		}
		p, err := s.Combine(names, sets...)
		if err != nil {
			return nil, err
		}
		cells = append(cells, Cell{Values: values, Plan: p})
	}
	return cells, nil
}

func combinations(axes []Axis) [][]string {
	out := [][]string{nil}
	for _, a := range append(slices.Clone(axes[1:]), axes[0]) {
		var next [][]string
		for _, chosen := range out {
			for _, v := range a.Values {
				next = append(next, append(slices.Clone(chosen), v))
			}
		}
		out = next
	}
	for _, values := range out { // from the order of the loops to that of the axes
		last := len(values) - 1
		first := values[last]
		copy(values[1:], values[:last])
		values[0] = first
	}
	return out
}

// Fill runs all cells, so many at a time. The first error ends it; runs under way are
// finished.
func Fill(ctx context.Context, cells []Cell, atOnce int, engine Engine) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range cells {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var err error
			if cells[i].Summary, err = engine(cells[i].Plan); err != nil {
				return fmt.Errorf("%s: %w", cells[i].Plan.Variant, err)
			}
			return nil
		})
	}
	return group.Wait()
}
