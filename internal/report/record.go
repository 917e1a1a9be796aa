package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shedload/internal/ledger"
)

// The files of a record.
const (
	SummaryFile  = "summary.json"
	ManifestFile = "manifest.json"
	PageFile     = "report.html"
)

// SeriesFile is the name of a variant's time series. What file names cannot hold
// everywhere becomes an underscore.
func SeriesFile(variant string) string {
	return "timeseries-" + strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune("/\\:*?\"<>|", r) {
			return '_'
		}
		return r
	}, variant) + ".csv"
}

// Record is the folder of a run, written as it goes: rows as they become known, the
// rest after each variant. What has not been closed, after a crash for instance,
// is marked partial. Not safe for concurrent use.
type Record struct {
	dir      string
	manifest Manifest
	doc      Document
	now      func() time.Time

	series  *os.File // of the variant under way
	written int      // its rows so far
}

// Create makes the folder, which must be new or empty, and the first manifest.
func Create(dir string, m Manifest, now func() time.Time) (*Record, error) {
	if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
		return nil, fmt.Errorf("%s: the folder is not empty: a record needs a new or an empty one", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	m.Tool, m.Started, m.Partial, m.Ended = "shedload", now().UTC(), true, nil
	if m.Hashes == nil {
		m.Hashes = map[string]string{}
	}
	r := &Record{dir: dir, manifest: m, now: now}
	return r, errors.Join(r.writeManifest(), r.writeSummary())
}

// Dir returns the folder.
func (r *Record) Dir() string { return r.dir }

// Begin starts the time series of a variant.
func (r *Record) Begin(variant string) error {
	var err error
	if r.series, err = os.Create(filepath.Join(r.dir, SeriesFile(variant))); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.written = 0
	w := csv.NewWriter(r.series)
	_ = w.Write(seriesHeader()) // its errors are kept for Error
	w.Flush()
	return w.Error()
}

// Append adds the rows that are not in the time series yet, so that a crash keeps
// them. The last events of a second may come in later; Add writes what is final.
func (r *Record) Append(rows ledger.Rows) error {
	w := csv.NewWriter(r.series)
	for i := range rows {
		if rows[i].T >= r.written {
			_ = w.Write(seriesLine(&rows[i]))
			r.written = rows[i].T + 1
		}
	}
	w.Flush()
	return w.Error()
}

// Add takes in a variant that is over: its final rows, the summary, the page.
func (r *Record) Add(v Variant) error {
	var errs []error
	if r.series != nil {
		errs = append(errs, r.series.Close())
		r.series = nil
	}
	r.doc.Variants = append(r.doc.Variants, v)
	errs = append(errs,
		r.write(SeriesFile(v.Variant), func(w io.Writer) error { return WriteSeries(w, v.Rows) }),
		r.writeSummary(), r.writePage())
	return errors.Join(errs...)
}

// AddFile adds a file, such as a table of a published experiment.
func (r *Record) AddFile(name string, text []byte) error {
	return r.write(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Close writes the manifest of a record that is over. It is partial when partial
// says so, or one of its variants is.
func (r *Record) Close(partial bool) error {
	var errs []error
	if r.series != nil {
		errs = append(errs, r.series.Close())
	}
	end := r.now().UTC()
	r.manifest.Ended = &end
	r.manifest.Partial = partial || slices.ContainsFunc(r.doc.Variants, func(v Variant) bool { return v.Partial })
	errs = append(errs, r.writePage(), r.hash(), r.writeManifest())
	return errors.Join(errs...)
}

// Discard removes a record in which nothing has been measured.
func (r *Record) Discard() error {
	var errs []error
	if r.series != nil {
		errs = append(errs, r.series.Close(), os.Remove(r.series.Name()))
	}
	for _, path := range []string{filepath.Join(r.dir, SummaryFile), filepath.Join(r.dir, ManifestFile), r.dir} {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// hash takes the sums of all files but the manifest.
func (r *Record) hash() error {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for _, f := range files {
		if f.IsDir() || f.Name() == ManifestFile {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.dir, f.Name()))
		if err != nil {
			return fmt.Errorf("record: %w", err)
		}
		r.manifest.Hashes[f.Name()] = Hash(text)
	}
	return nil
}

func (r *Record) writeSummary() error {
	return r.write(SummaryFile, func(w io.Writer) error { return WriteJSON(w, r.doc) })
}

func (r *Record) writeManifest() error {
	return r.write(ManifestFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r.manifest)
	})
}

func (r *Record) writePage() error {
	return r.write(PageFile, func(w io.Writer) error { return WritePage(w, Page{Manifest: r.manifest, Variants: r.doc.Variants}) })
}

// write replaces a file as a whole, so that a reader never sees half of it.
func (r *Record) write(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("record: %s: %w", name, err)
	}
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path+".new", b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}
