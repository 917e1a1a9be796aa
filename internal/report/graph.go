package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/guptarohit/asciigraph"
)

// The size of a picture in characters, without its axis.
const (
	graphHeight = 8
	graphWidth  = 72
)

// WriteGraph draws throughput and goodput of a variant over time, with a ruler
// below that shows when the trigger was.
func WriteGraph(w io.Writer, v Variant, s Style) error {
	if len(v.Rows) < 2 {
		return nil
	}
	throughput, goodput := make([]float64, len(v.Rows)), make([]float64, len(v.Rows))
	for i, r := range v.Rows {
		throughput[i], goodput[i] = float64(r.Throughput), float64(r.GoodputClient)
	}
	options := []asciigraph.Option{
		asciigraph.Height(graphHeight), asciigraph.Width(graphWidth), asciigraph.LowerBound(0), asciigraph.Precision(0),
		// Without colours the lines are told apart by what they are drawn with.
		asciigraph.SeriesChars(asciigraph.DefaultCharSet, asciigraph.CreateCharSet("*")),
	}
	if s.Color {
		options = append(options, asciigraph.SeriesColors(asciigraph.Blue, asciigraph.Green))
	}
	picture := asciigraph.PlotMany([][]float64{throughput, goodput}, options...)
	_, err := fmt.Fprintf(w, "%s: ── throughput, ** goodput, per second\n%s\n%s\n",
		v.Heading(), picture, ruler(v, strings.IndexAny(firstLine(picture), "┤┼")))
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// ruler marks the trigger under a picture whose first character of data stands
// after indent bytes.
func ruler(v Variant, indent int) string {
	pad := strings.Repeat(" ", max(0, indent)+1)
	seconds := v.Rows[len(v.Rows)-1].T + 1
	scale := fmt.Sprintf("%s0 s%*s", pad, graphWidth-3, fmt.Sprintf("%d s", seconds))
	if v.Recovery.TriggerEndS == nil {
		return scale
	}
	at := func(t float64) int { return min(graphWidth-1, int(t/float64(seconds)*graphWidth)) }
	from, to := at(v.TriggerStartS), at(*v.Recovery.TriggerEndS)
	return pad + strings.Repeat(" ", from) + strings.Repeat("▲", max(1, to-from)) + " " + v.Recovery.Trigger + "\n" + scale
}
