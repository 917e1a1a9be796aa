// Command dashboards writes Grafana's dashboards as JSON. They are code so that a
// colour, a unit or a label is said once; what Grafana reads is committed.
//
// They are in the classic format, which every Grafana since 9 provisions from files;
// the library calls it deprecated in favour of one that only the newest reads.
//
//	go run . ../grafana/dashboards
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string) error {
	for name, d := range all() {
		text, err := render(d)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// all are the dashboards by file name.
func all() map[string]board {
	return map[string]board{"overload.json": overload(), "clients.json": clients(), "side-by-side.json": sideBySide()}
}

func render(b board) ([]byte, error) {
	var d dashboard.Dashboard
	d, err := b.build()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
