package scenario

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"shedload/internal/ledger"
)

// Table is a table of a published experiment, written as CSV: lines end in LF, the
// first one names the columns.
type Table struct {
	File string `yaml:"file" doc:"name of the CSV file"`
	Rows Rows   `yaml:"rows" doc:"variants: a row for each; windows: a row for each window of the first of them"`
	// Variants are names or patterns; absent means all, in the order of the file.
	Variants []string `yaml:"variants" doc:"which variants the table is made of"`
	Columns  []Column `yaml:"columns" doc:"expressions over the summary of the row's variant, or over its window and v.VARIANT.window[name]"`

	variants []string
	programs []*vm.Program
}

// Column is one column of a table. Its expression is over the row's summary (rows:
// variants), or over the row's window with v.VARIANT for the summaries of all
// variants of the table (rows: windows).
type Column struct {
	Name  string     `yaml:"name"`
	Value Expression `yaml:"value"`
}

// Rows says what a row of a table is.
type Rows string

// What a row can be.
const (
	RowVariants Rows = "variants"
	RowWindows  Rows = "windows"
)

// Allowed lists the values.
func (Rows) Allowed() []string { return []string{"variants", "windows"} }

// UnmarshalText accepts exactly the allowed values.
func (r *Rows) UnmarshalText(text []byte) error { return oneOf(r, text) }

func (t *Table) defaults() { t.Rows = RowVariants }

// compile checks the table's columns against what its variants will have.
func (t *Table) compile(ps *problems, s *Scenario, plans []Plan) {
	at := Position{File: s.file, Line: 1, Column: 1}
	if len(t.Columns) > 0 {
		at = t.Columns[0].Value.At
	}
	patterns := t.Variants
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	var err error
	if t.variants, err = s.Select(patterns); err != nil {
		ps.add(at, "tables", "%s", err)
		return
	}
	if !validName(t.File) || len(t.Columns) == 0 {
		ps.add(at, "tables", "needs a file, a plain name such as sweep.csv, and columns")
		return
	}
	every, first := types.Map{}, Plan{}
	for _, p := range plans {
		every[p.Variant] = summaryShape(p).env()
		if p.Variant == t.variants[0] {
			first = p
		}
	}
	env := summaryShape(first).env().(types.Map)
	if t.Rows == RowWindows {
		env = types.Map{"v": every}
		for name, field := range summaryShape(first).fields["windows"].item.fields {
			env[name] = field.env()
		}
	}
	t.programs = nil
	for _, c := range t.Columns {
		program, err := c.Value.compile(env, quantile)
		ps.join(c.Value.At, "", err)
		t.programs = append(t.programs, program)
	}
}

// quantile picks a quantile out of a summary of latencies: p(latency_ms.served, 99).
var quantile = expr.Function("p", func(args ...any) (any, error) {
	h, ok := args[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("p(%v, ...): the first argument is a set of latencies, such as latency_ms.served", args[0])
	}
	q, ok := h[fmt.Sprintf("p%v", args[1])].(float64)
	if !ok {
		return nil, fmt.Errorf("p(..., %v): allowed are 50 and 99", args[1])
	}
	return q, nil
}, new(func(any, int) float64))

// Render returns the CSV bytes of a table of s for the finished runs of its
// variants; the error names the variant that is missing, or the cell that failed.
func (s *Scenario) Render(t Table, plans []Plan, summaries []ledger.Summary) ([]byte, error) {
	envs := map[string]any{}
	for i, p := range plans {
		if i < len(summaries) {
			envs[p.Variant] = p.summaryEnv(summaries[i])
		}
	}
	for _, name := range t.variants {
		if envs[name] == nil {
			return nil, fmt.Errorf("table %s needs variant %s, which did not run", t.File, name)
		}
	}
	var rows []map[string]any
	for _, name := range t.variants {
		rows = append(rows, envs[name].(map[string]any))
	}
	if t.Rows == RowWindows {
		rows = windowRows(rows[0], envs)
	}
	return t.render(rows)
}

func windowRows(first map[string]any, envs map[string]any) []map[string]any {
	var rows []map[string]any
	for _, w := range first["windows"].([]any) {
		row := map[string]any{"v": envs}
		for name, value := range w.(map[string]any) {
			row[name] = value
		}
		rows = append(rows, row)
	}
	return rows
}

func (t Table) render(rows []map[string]any) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	if err := w.Write(line); err != nil {
		return nil, err
	}
	for r, env := range rows {
		for i, c := range t.Columns {
			value, err := expr.Run(t.programs[i], env)
			if err != nil {
				return nil, fmt.Errorf("table %s, row %d, column %s: %s", t.File, r+1, c.Name, firstLine(err))
			}
			line[i] = cell(value)
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// cell writes a value without an exponent and without digits that say nothing.
func cell(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}
