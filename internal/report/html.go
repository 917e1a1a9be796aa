package report

import (
	_ "embed"
	"html/template"
	"io"

	"shedload/internal/ledger"
)

// Page is what report.html shows: a record.
type Page struct {
	Manifest Manifest
	Variants []Variant
}

//go:embed report.html.tmpl
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{"charts": charts}).Parse(pageText))

// WritePage writes a page that needs nothing else: no script, no font, no network.
func WritePage(w io.Writer, p Page) error { return page.Execute(w, p) }

// Title is the heading of the page.
func (p Page) Title() string { return p.Manifest.Scenario }

// pageRow is a line of the page's table.
type pageRow struct {
	Name  string
	Cells []string
}

// Table is the same table as on the terminal.
func (p Page) Table() []pageRow {
	var rows []pageRow
	for _, l := range lines(p.Variants) {
		row, empty := pageRow{Name: l.name}, true
		for i := range p.Variants {
			cell := l.value(&p.Variants[i])
			empty = empty && cell == ""
			row.Cells = append(row.Cells, orDash(cell))
		}
		if !empty {
			rows = append(rows, row)
		}
	}
	return rows
}

// trust is one thing that a reader of the numbers should know.
type trust struct {
	OK         bool
	What, Said string
}

// Trust says how far the numbers of a variant can be relied on.
func (v Variant) Trust() []trust {
	list := []trust{{v.Conservation.OK, "Every attempt accounted for", conservation(&v)}}
	if v.Engine == "live" {
		g := v.Generator
		list = append(list, trust{g.Delivered, "Load delivered", Count(g.Missed) + " of " + Count(g.Sends) +
			" sends missed; sends were late by " + lateness(&v) + " (p50 / p99), " + figure(g.LatenessMS.Max) + " ms at most"})
	} else {
		list = append(list, trust{true, "Load delivered", "virtual time: always, and the same each time"})
	}
	whole := trust{!v.Partial, "Run complete", "to its end at " + figure(v.HorizonS) + " s"}
	if v.Partial {
		whole.Said = "no, it ended at " + figure(v.HorizonS) + " s: " + v.Incident
	}
	return append(list, whole)
}

// Class is the CSS class of a verdict.
func (v Variant) Class() string {
	switch v.Recovery.Verdict {
	case ledger.Steady, ledger.Recovered:
		return "good"
	case ledger.Collapsed:
		return "bad"
	}
	return "open"
}
