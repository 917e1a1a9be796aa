package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Open reads a record: summary, manifest and time series.
func Open(dir string) (Page, error) {
	var p Page
	var doc Document
	if err := readJSON(filepath.Join(dir, SummaryFile), &doc); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return p, fmt.Errorf("%s is not the record of a run: it has no %s", dir, SummaryFile)
		}
		return p, err
	}
	if err := readJSON(filepath.Join(dir, ManifestFile), &p.Manifest); err != nil {
		return p, err
	}
	for _, v := range doc.Variants {
		path := filepath.Join(dir, SeriesFile(v.Variant))
		f, err := os.Open(path)
		if err != nil {
			return p, fmt.Errorf("record: %w", err)
		}
		v.Rows, err = ReadSeries(f)
		_ = f.Close() // it was only read
		if err != nil {
			return p, fmt.Errorf("%s: %w", path, err)
		}
		p.Variants = append(p.Variants, v)
	}
	return p, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
