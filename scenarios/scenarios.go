// Package scenarios holds the published experiments, and what else is worth
// running, as data: each YAML file is one scenario (see package scenario).
package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"shedload/internal/scenario"
)

//go:embed *.yaml *.trace
var files embed.FS

// List returns the names of the scenarios, sorted.
func List() []string {
	found, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, name := range found {
		found[i] = strings.TrimSuffix(name, ".yaml")
	}
	return found
}

// Open returns the text of a scenario, by its name, or of another file here, such
// as a trace, by its file name. It is what scenario.Load reads embedded scenarios
// with; the error of an unknown name lists those that exist.
func Open(name string) ([]byte, error) {
	file := name
	if path.Ext(name) == "" {
		file += ".yaml"
	}
	text, err := files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s", scenario.Unknown("scenario", name, List()))
	}
	return text, nil
}
