package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/guptarohit/asciigraph"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Loop is goodput over load, on the way up and on the way down.
type Loop struct {
	Name     string
	From, To float64 // load per second
	// Up and Down are goodput per second at equally spaced loads from From to To.
	Up, Down []float64
}

// WriteLoop draws a loop: where the two lines part, the service can be either.
func WriteLoop(w io.Writer, l Loop, s Style) error {
	if len(l.Up) < 2 || len(l.Up) != len(l.Down) {
		return nil
	}
	options := []asciigraph.Option{
		asciigraph.Height(graphHeight), asciigraph.Width(graphWidth), asciigraph.LowerBound(0), asciigraph.Precision(0),
		asciigraph.SeriesChars(asciigraph.DefaultCharSet, asciigraph.CreateCharSet("*")),
	}
	if s.Color {
		options = append(options, asciigraph.SeriesColors(asciigraph.Green, asciigraph.Red))
	}
	picture := asciigraph.PlotMany([][]float64{l.Up, l.Down}, options...)
	pad := strings.Repeat(" ", max(0, strings.IndexAny(firstLine(picture), "┤┼"))+1)
	from := figure(l.From) + "/s"
	_, err := fmt.Fprintf(w, "%s: goodput over load, ── on the way up, ** on the way down, per second\n%s\n%s%s%*s\n",
		l.Name, picture, pad, from, graphWidth-len(from), figure(l.To)+"/s")
	return err
}

// LoopRow is one load, on the way up and on the way down; all per second.
type LoopRow struct {
	Load     float64
	Up, Down LoopSide
}

// LoopSide is what came of a load.
type LoopSide struct {
	Offered, Throughput, Goodput, Level float64
	Queue                               int64
}

// WriteLoopTable writes the loads of a loop with what came of them. The top of the
// loop is the same both ways.
func WriteLoopTable(w io.Writer, rows []LoopRow, s Style) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"load/s", "up: goodput/s", "offered/s", "queue", "level", "down: goodput/s", "offered/s", "queue", "level"})
	var configs []table.ColumnConfig
	for i := range 9 {
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		row := table.Row{figure(r.Load)}
		for _, side := range []LoopSide{r.Up, r.Down} {
			row = append(row, figure(side.Goodput), figure(side.Offered), Count(side.Queue), level(side.Level, s))
		}
		t.AppendRow(row)
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// level colours how much of what was asked for was delivered, by the verdict's bounds.
func level(x float64, s Style) string {
	cell := percent(min(x, 1))
	switch {
	case !s.Color:
	case x < 0.80:
		return text.FgRed.Sprint(cell)
	case x >= 0.95:
		return text.FgGreen.Sprint(cell)
	}
	return cell
}
