// Package readme holds the documents to the code: what they show is run, what
// they list is complete, and what they point at exists.
package readme

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is absolute, so that tests may go elsewhere.
var root = func() string {
	path, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return path
}()

var update = flag.Bool("update", false, "write the generated parts of the documents anew")

// documents returns the paths of README.md and of what is in docs.
func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	return append(found, filepath.Join(root, "README.md"))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced block of a document.
type block struct {
	file  string
	line  int // of its first line
	kind  string
	lines []string
}

// blocks returns the fenced blocks of a document.
func blocks(t *testing.T, path string) []block {
	t.Helper()
	var all []block
	var open *block
	for i, line := range strings.Split(read(t, path), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case !isFence && open != nil:
			open.lines = append(open.lines, line)
		case isFence && open == nil:
			open = &block{file: filepath.Base(path), line: i + 2, kind: fence}
		case isFence:
			all, open = append(all, *open), nil
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block is not closed", path, open.line)
	}
	return all
}
