package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"shedload/internal/ledger"
)

// Style says how to write for the reader at hand.
type Style struct {
	// Color allows ANSI colours.
	Color bool
	// Width of the terminal in columns; 0 means unknown, and 120 is assumed.
	Width int
}

// line is one line of the table: what it says, and its value in a variant; "" where
// the variant has none.
type line struct {
	name  string
	value func(v *Variant) string
}

// lines lists the table's lines in order; those without a value anywhere are left out.
func lines(vs []Variant) []line {
	all := []line{
		{"requests", func(v *Variant) string { return Count(v.Requests.Total) }},
		{"attempts", func(v *Variant) string { return Count(v.Attempts.Total) }},
		{"throughput", func(v *Variant) string { return served(v, v.Throughput, v.ThroughputPS) }},
		{"goodput (server)", func(v *Variant) string { return served(v, v.Goodput, v.GoodputPS) }},
		{"goodput (clients)", func(v *Variant) string { return counted(v.GoodputClient, v.GoodputClPS) }},
		{"goodput share", func(v *Variant) string { return onServer(v, percent(v.GoodputShare)) }},
		{"gave up", func(v *Variant) string { return Count(v.Requests.GaveUp) }},
		{"throttled", func(v *Variant) string { return some(v.Requests.Throttled) }},
		{"peak queue", func(v *Variant) string { return onServer(v, Count(v.Peak.Queue)) }},
		{"peak offered/s", func(v *Variant) string { return Count(v.Peak.OfferedPerS) }},
		{"amplification", func(v *Variant) string { return figure(v.Amplification) + " x" }},
		{"refused", func(v *Variant) string { return reasons(v.Attempts.RefusedTotal, v.Attempts.Refused) }},
		{"dropped", func(v *Variant) string { return reasons(v.Attempts.DroppedTotal, v.Attempts.Dropped) }},
		{"lost", func(v *Variant) string { return some(v.Attempts.Lost) }},
		{"wasted work", func(v *Variant) string {
			return onServer(v, fmt.Sprintf("%s s (%s)", figure(v.WastedWorkS), percent(v.WastedShare)))
		}},
		{"latency p50 / p99", func(v *Variant) string { return quantiles(v.LatencyMS.Served) }},
		{"time to no p50 / p99", func(v *Variant) string { return quantiles(v.LatencyMS.ShedWait) }},
		{"told no p50 / p99", func(v *Variant) string { return live(v, quantiles(v.LatencyMS.ToldNo)) }},
		{"user waits p50 / p99", func(v *Variant) string { return quantiles(v.LatencyMS.Request) }},
		{"sends late p50 / p99", lateness},
		{"sends missed", func(v *Variant) string { return live(v, missed(v)) }},
		{"conservation", conservation},
	}
	for _, program := range programs(vs) {
		all = append(all,
			line{program + " cores", func(v *Variant) string { return process(v, program, cores) }},
			line{program + " memory", func(v *Variant) string { return process(v, program, memory) }})
	}
	return append(all,
		line{"verdict", func(v *Variant) string { return v.Recovery.Verdict }},
		line{"users", func(v *Variant) string { return v.Recovery.UsersVerdict }})
}

// onServer and live leave out what a run without the server's view, or in virtual
// time, does not have.
func onServer(v *Variant, s string) string {
	if v.View == "client" {
		return ""
	}
	return s
}

func live(v *Variant, s string) string {
	if v.Engine != "live" {
		return ""
	}
	return s
}

func counted(n int64, perSecond float64) string {
	return fmt.Sprintf("%s (%s/s)", Count(n), figure(perSecond))
}

func served(v *Variant, n int64, perSecond float64) string { return onServer(v, counted(n, perSecond)) }

func some(n int64) string {
	if n == 0 {
		return ""
	}
	return Count(n)
}

// reasons names the reason where there is only one.
func reasons(total int64, byReason map[string]int64) string {
	for reason, n := range byReason {
		if n == total && total > 0 {
			return Count(total) + " " + reason
		}
	}
	return some(total)
}

func quantiles(q ledger.Quantiles) string {
	if q.Max == 0 {
		return ""
	}
	return millis(q.P50) + " / " + millis(q.P99)
}

func lateness(v *Variant) string {
	q := v.Generator.LatenessMS
	return live(v, fmt.Sprintf("%s / %s ms", figure(q.P50), figure(q.P99)))
}

func missed(v *Variant) string {
	if v.Generator.Delivered {
		return Count(v.Generator.Missed)
	}
	return Count(v.Generator.Missed) + ": NOT DELIVERED"
}

func conservation(v *Variant) string {
	c := v.Conservation
	switch {
	case !c.OK:
		return fmt.Sprintf("BROKEN (gap %s)", Count(c.ClientServerGap))
	case c.ClientServerGap > 0:
		return fmt.Sprintf("exact (%s in flight)", Count(c.ClientServerGap))
	}
	return "exact"
}

// programs lists the programs whose use is known, the generator first.
func programs(vs []Variant) []string {
	found := map[string]bool{}
	for _, v := range vs {
		for name := range v.Processes {
			found[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(found))
	if i := slices.Index(names, "loadgen"); i > 0 {
		names = append([]string{"loadgen"}, slices.Delete(names, i, i+1)...)
	}
	return names
}

func process(v *Variant, program string, say func(Process) string) string {
	p, ok := v.Processes[program]
	if !ok {
		return ""
	}
	return say(p)
}

func cores(p Process) string { return trimmed(p.Cores, 2) }

func memory(p Process) string {
	if p.PeakRSS == 0 {
		return ""
	}
	return Bytes(p.PeakRSS)
}

const (
	assumedWidth = 120
	nameWidth    = 26 // of the first column, with its border
)

// WriteTable writes the variants side by side, in as many tables as the width takes.
func WriteTable(w io.Writer, vs []Variant, s Style) error {
	if s.Width == 0 {
		s.Width = assumedWidth
	}
	rows := lines(vs)
	cells := make([][]string, len(vs)) // by variant
	for i := range vs {
		for _, l := range rows {
			cells[i] = append(cells[i], orDash(l.value(&vs[i])))
		}
	}
	for from := 0; from < len(vs); {
		to, width := from, nameWidth
		for to < len(vs) && (to == from || width+columnWidth(vs[to], cells[to]) <= s.Width) {
			width += columnWidth(vs[to], cells[to])
			to++
		}
		if _, err := fmt.Fprintln(w, render(rows, vs[from:to], cells[from:to], s)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func columnWidth(v Variant, cells []string) int {
	width := len([]rune(v.Heading()))
	for _, c := range cells {
		width = max(width, len([]rune(c)))
	}
	return width + 3
}

func render(rows []line, vs []Variant, cells [][]string, s Style) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	head := table.Row{title(vs)}
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignLeft}}
	for i, v := range vs {
		head = append(head, v.Heading())
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	for i, l := range rows {
		row, empty := table.Row{l.name}, true
		for k := range vs {
			cell := cells[k][i]
			empty = empty && cell == "-"
			row = append(row, painted(cell, s))
		}
		if empty {
			continue
		}
		if l.name == "verdict" {
			t.AppendSeparator()
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// title names the scenario and engine that all have in common.
func title(vs []Variant) string {
	name := vs[0].Scenario + " (" + vs[0].Engine + ")"
	for _, v := range vs {
		if v.Scenario+" ("+v.Engine+")" != name {
			return ""
		}
	}
	return name
}

// painted colours the words that matter.
func painted(cell string, s Style) string {
	if !s.Color {
		return cell
	}
	switch {
	case cell == ledger.Steady || cell == ledger.Recovered:
		return text.Colors{text.FgGreen}.Sprint(cell)
	case cell == ledger.Collapsed || strings.Contains(cell, "NOT DELIVERED") || strings.HasPrefix(cell, "BROKEN"):
		return text.Colors{text.FgRed}.Sprint(cell)
	case cell == ledger.Degraded || cell == ledger.Undecided:
		return text.Colors{text.FgYellow}.Sprint(cell)
	}
	return cell
}
