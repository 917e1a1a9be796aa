// Package laws checks the laws of the architecture: what the pure core may
// import and do, and which parts may not know each other.
package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// core maps each pure package to what it may import beyond the allowed standard
// library and the rest of the core.
var core = map[string][]string{
	"work": nil, "draw": nil, "queue": nil, "admit": nil, "station": nil,
	"retry": nil, "population": nil, "arrival": nil, "service": nil,
	"fluid":    nil,
	"deadline": {"net/http", "context"},
	"ledger":   {"github.com/HdrHistogram/hdrhistogram-go"},
	"scenario": {"github.com/goccy/go-yaml", "github.com/expr-lang/expr"},
}

// drivers put the core on a wall clock or in virtual time. None knows another.
var drivers = []string{"sim", "api", "worker", "client"}

// impure are the parts of the standard library that read the world or start something.
var impure = []string{
	"context", "crypto/rand", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http",
	"os", "os/exec", "os/signal", "runtime", "sync", "sync/atomic", "syscall", "testing", "unsafe",
}

// clock are the functions of package time that read or wait for the wall clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func TestCoreIsPure(t *testing.T) {
	for pkg, extra := range core {
		for path, file := range files(t, "internal/"+pkg) {
			for _, imp := range imports(t, file) {
				if !coreMayImport(imp, extra) {
					t.Errorf("%s imports %s: the core stays pure (law 1)", path, imp)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if what := impureNode(n); what != "" {
					t.Errorf("%s has %s: the core stays pure (law 1)", path, what)
				}
				return true
			})
		}
	}
}

func coreMayImport(imp string, extra []string) bool {
	for _, e := range extra {
		if imp == e || strings.HasPrefix(imp, e+"/") {
			return true
		}
	}
	if name, ours := strings.CutPrefix(imp, "shedload/internal/"); ours {
		_, pure := core[name]
		return pure
	}
	standard := !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") && !strings.HasPrefix(imp, "shedload/")
	return standard && !slices.Contains(impure, imp)
}

func impureNode(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.SelectStmt:
		return "a select"
	case *ast.ChanType:
		return "a channel"
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
			return "time." + n.Sel.Name
		}
	}
	return ""
}

func TestDriversDoNotKnowEachOther(t *testing.T) {
	for _, driver := range drivers {
		for path, file := range files(t, "internal/"+driver) {
			for _, imp := range imports(t, file) {
				name, ours := strings.CutPrefix(imp, "shedload/internal/")
				if !ours {
					continue
				}
				_, pure := core[name]
				helper := strings.HasPrefix(name, driver+"/")
				if !pure && !helper {
					t.Errorf("%s imports %s: a driver imports the core alone (law 2)", path, imp)
				}
			}
		}
	}
}

func TestMetricNamesStandInOnePlace(t *testing.T) {
	for path, file := range files(t, "internal") {
		for _, imp := range imports(t, file) {
			if strings.HasPrefix(imp, "github.com/prometheus/") && !strings.Contains(path, "internal/metrics/") && !strings.Contains(path, "internal/boot/") {
				t.Errorf("%s imports %s: only internal/metrics knows metrics", path, imp)
			}
		}
	}
}

// TestTheCheckSeesImpurity proves that the checks above can fail.
func TestTheCheckSeesImpurity(t *testing.T) {
	const bad = `package p
import "time"
func f() { go f(); select {}; _ = make(chan int); time.Now() }`
	file, err := parser.ParseFile(token.NewFileSet(), "bad.go", bad, 0)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	ast.Inspect(file, func(n ast.Node) bool {
		if what := impureNode(n); what != "" {
			seen = append(seen, what)
		}
		return true
	})
	if want := []string{"a go statement", "a select", "a channel", "time.Now"}; !slices.Equal(seen, want) {
		t.Errorf("saw %q, want %q", seen, want)
	}
	for _, imp := range []string{"os", "sync", "net/http", "shedload/internal/api", "go.uber.org/zap"} {
		if coreMayImport(imp, nil) {
			t.Errorf("%s is allowed in the core", imp)
		}
	}
}

// files parses the Go files below dir, without tests.
func files(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	parsed := map[string]*ast.File{}
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		parsed[strings.TrimPrefix(filepath.ToSlash(path), root+"/")] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(parsed) == 0 {
		t.Fatalf("no Go files below %s", dir)
	}
	return parsed
}

func imports(t *testing.T, file *ast.File) []string {
	t.Helper()
	var paths []string
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}
