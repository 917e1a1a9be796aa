// Package report writes what a run has measured, for people and for programs:
// the table on the terminal, JSON, CSV, and the record of a run, a folder with a
// self-contained HTML page in it. It measures nothing itself.
package report

import (
	"encoding/json"
	"io"

	"shedload/internal/ledger"
)

// Document is summary.json, and what --format json prints.
type Document struct {
	Variants []Variant `json:"variants"`
}

// Variant is one run: the ledger's summary, and what only the driver knows.
type Variant struct {
	ledger.Summary

	About      string `json:"about"`
	Discipline string `json:"discipline"`
	Seed       uint64 `json:"seed"`
	// TriggerStartS is when the trigger began; 0 without one.
	TriggerStartS float64 `json:"trigger_start_s"`
	// Said is the verdict as one sentence.
	Said string `json:"sentence"`
	// Incident says why the run is partial; "" when it is whole.
	Incident string `json:"incident,omitempty"`
	// Processes is what the processes of a live run have used, by program.
	Processes map[string]Process `json:"processes,omitempty"`
	// Seeds describes the runs with other seeds; nil without any.
	Seeds *Seeds `json:"seeds,omitempty"`

	// Rows are the seconds of the run. They are in a file of their own.
	Rows ledger.Rows `json:"-"`
	// Label replaces the variant's name as a heading; "" keeps it.
	Label string `json:"-"`
}

// Process is what one program has used during a run.
type Process struct {
	Cores   float64 `json:"cores"` // processor time over the length of the run
	CPUS    float64 `json:"cpu_s"`
	PeakRSS int64   `json:"peak_rss_bytes"` // 0 unknown
}

// Heading is how tables and charts call the variant.
func (v Variant) Heading() string {
	if v.Label != "" {
		return v.Label
	}
	return v.Variant
}

// Valid reports whether the run is a result: delivered, and accounted for.
func (v Variant) Valid() bool { return v.Generator.Delivered && v.Conservation.OK }

// WriteJSON writes the document as indented JSON.
func WriteJSON(w io.Writer, d Document) error {
	if d.Variants == nil {
		d.Variants = []Variant{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
