// Package e2e tests the built programs as people run them: real processes, real
// HTTP on loopback, real signals.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shedload/internal/ledger"
)

// bin is where the programs were built.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shedload-e2e-")
	if err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "shedload/cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	bin = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// result is what a program said and how it ended.
type result struct {
	stdout, stderr string
	code           int
}

// exe returns a program that is not started yet. It is killed when it outlives its bound.
func exe(t *testing.T, bound time.Duration, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, filepath.Join(bin, args[0]), args[1:]...)
	c.Env = append(os.Environ(), environ...)
	c.Dir = t.TempDir()
	return c
}

func run(t *testing.T, bound time.Duration, environ []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exe(t, bound, environ, args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// exitInvalid is the code of a run that is no result, as when the machine was too
// busy to deliver the load.
const exitInvalid = 3

// delivered runs loadgen until a run has delivered its load, three times at most: only a
// delivered run may be asked for counts.
func delivered(t *testing.T, bound time.Duration, args ...string) result {
	t.Helper()
	var r result
	for range 3 {
		if r = run(t, bound, nil, args...); r.code != exitInvalid {
			return r
		}
		t.Logf("not a result, once more: %s", r.stderr)
	}
	t.Fatalf("three runs, and none was valid:\n%s", r.stderr)
	return r
}

// summaries reads what `loadgen run --format json` printed.
func summaries(t *testing.T, stdout string) map[string]ledger.Summary {
	t.Helper()
	var printed struct{ Variants []ledger.Summary }
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil {
		t.Fatalf("stdout is not JSON alone: %v\n%s", err, stdout)
	}
	byName := map[string]ledger.Summary{}
	for _, s := range printed.Variants {
		byName[s.Variant] = s
	}
	return byName
}
