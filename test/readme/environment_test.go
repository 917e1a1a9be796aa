package readme

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shedload/internal/boot"
)

const (
	tableBegin = "<!-- generated: %s -->\n"
	tableEnd   = "<!-- end -->"
)

// TestEnvironmentTables: the tables are those of the configuration types.
func TestEnvironmentTables(t *testing.T) {
	path := filepath.Join(root, "docs", "environment.md")
	text := read(t, path)
	fresh := text
	for _, p := range boot.Programs() {
		var table strings.Builder
		if err := boot.WriteMarkdown(&table, p.Vars); err != nil {
			t.Fatal(err)
		}
		begin := strings.Replace(tableBegin, "%s", p.Name, 1)
		before, rest, found := strings.Cut(fresh, begin)
		_, after, closed := strings.Cut(rest, tableEnd)
		if !found || !closed {
			t.Fatalf("%s has no place for the table of %s", path, p.Name)
		}
		fresh = before + begin + table.String() + tableEnd + after
	}
	if fresh == text {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: go test ./test/readme -update", path)
	}
	if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

// setting is a variable with a value.
var setting = regexp.MustCompile("(SHEDLOAD_[A-Z_]+)=([^`\\s]+)")

// TestSettingsAreValid: what a document shows as a variable with its value is one
// that a program takes.
func TestSettingsAreValid(t *testing.T) {
	seen := 0
	for _, path := range documents(t) {
		for _, found := range setting.FindAllStringSubmatch(read(t, path), -1) {
			seen++
			if err := accepted(found[1], found[2]); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d settings in all documents: the test shows nothing", seen)
	}
}

// accepted loads each program that knows the variable with it.
func accepted(name, value string) error {
	known := false
	var errs []error
	for _, p := range boot.Programs() {
		for _, v := range p.Vars {
			if v.Name != name {
				continue
			}
			known = true
			environ := []string{name + "=" + value}
			if name == "SHEDLOAD_CLASS_SERVICE_TIMES" || name == "SHEDLOAD_DOOR" { // they name classes
				environ = append(environ, "SHEDLOAD_CLASSES=pay:critical,reports:sheddable:reports")
			}
			errs = append(errs, load(p.Name, environ))
		}
	}
	if !known {
		return errors.New(name + ": no program knows it")
	}
	return errors.Join(errs...)
}

func load(program string, environ []string) error {
	var err error
	switch program {
	case "apiserver":
		var c boot.APIServer
		if c, err = boot.Load[boot.APIServer](program, environ); err == nil {
			err = c.Door.Validate(c.Classes)
		}
	case "backend":
		_, err = boot.Load[boot.Backend](program, environ)
	default:
		_, err = boot.Load[boot.Loadgen](program, environ)
	}
	return err
}
