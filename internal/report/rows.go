package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// WriteRows writes a line for each variant: for sweeps, which have many.
func WriteRows(w io.Writer, vs []Variant, s Style) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{title(vs), "throughput/s", "goodput/s", "share", "gave up", "peak queue", "amplification", "dropped", "refused", "verdict", "users"})
	var configs []table.ColumnConfig
	for i := range 10 {
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for _, v := range vs {
		t.AppendRow(table.Row{
			v.Heading(), figure(v.ThroughputPS), figure(v.GoodputClPS), percent(v.GoodputShare), Count(v.Requests.GaveUp),
			Count(v.Peak.Queue), figure(v.Amplification) + " x", Count(v.Attempts.DroppedTotal), Count(v.Attempts.RefusedTotal),
			painted(v.Recovery.Verdict, s), painted(v.Recovery.UsersVerdict, s),
		})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
