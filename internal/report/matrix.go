package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"shedload/internal/ledger"
)

// Grid is a matrix of runs: a column for each value of one axis, a row for each
// combination of the others.
type Grid struct {
	RowAxes []string
	Columns []string
	Rows    []GridRow
}

// GridRow is one combination, with a run for each column.
type GridRow struct {
	Values []string // by row axis
	Runs   []*ledger.Summary
}

// WriteGrid writes the verdict of each run, with the share of requests that succeeded,
// and below it how many of each column stayed down.
func WriteGrid(w io.Writer, g Grid, s Style) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header, t.Style().Format.Footer = text.FormatDefault, text.FormatDefault
	head, foot := table.Row{}, table.Row{}
	var configs []table.ColumnConfig
	for i, a := range g.RowAxes {
		head, foot = append(head, a), append(foot, "")
		configs = append(configs, table.ColumnConfig{Number: i + 1, AutoMerge: i < len(g.RowAxes)-1, VAlign: text.VAlignTop})
	}
	foot[len(foot)-1] = "stayed down"
	for i, c := range g.Columns {
		head = append(head, c)
		down := 0
		for _, r := range g.Rows {
			if v := r.Runs[i].Recovery.Verdict; v == ledger.Collapsed || v == ledger.Degraded {
				down++
			}
		}
		foot = append(foot, fmt.Sprintf("%d of %d", down, len(g.Rows)))
		configs = append(configs, table.ColumnConfig{
			Number: len(head), Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight,
		})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	t.AppendFooter(foot)
	for i, r := range g.Rows {
		if i > 0 && len(r.Values) > 1 && r.Values[0] != g.Rows[i-1].Values[0] {
			t.AppendSeparator()
		}
		row := table.Row{}
		for _, v := range r.Values {
			row = append(row, v)
		}
		for _, run := range r.Runs {
			row = append(row, outcome(run, s))
		}
		t.AppendRow(row)
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// outcome is a run in two words.
func outcome(s *ledger.Summary, style Style) string {
	verdict := painted(s.Recovery.Verdict, style)
	if after := s.Recovery.GoodputAfterS; s.Recovery.Verdict == ledger.Recovered && after != nil {
		verdict += " " + strconv.FormatFloat(*after, 'f', 0, 64) + " s"
	}
	share := 0.0
	if s.Requests.Total > 0 {
		share = float64(s.Requests.Succeeded) / float64(s.Requests.Total)
	}
	return fmt.Sprintf("%s %3.0f %%", verdict, 100*share)
}
