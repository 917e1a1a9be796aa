package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"shedload/internal/app"
	"shedload/internal/boot"
	"shedload/internal/report"
)

// TestMain lets the test binary be the programs that loadgen starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "apiserver" || os.Args[1] == "backend") {
		os.Exit(app.RunLoadgen(context.Background(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const small = `name: small
about: A service at half its capacity, for a moment.
horizon: 3s
backend: {workers: 4, service_time: 20ms}
clients: [{name: users, arrivals: even, rate: 20, patience: 500ms, retry: {attempts: 3, on: [timeout]}}]
phases: [{name: bump, at: 1s, for: 1s, rate: 40}]
variants: {fifo: {}, deadline: {server: {discipline: deadline}}}
expect: {"*": ["conservation.ok", "requests.total == 80"]}
`

// folder makes an empty folder with small.yaml in it the current one.
func folder(t *testing.T, content string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("small.yaml", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLiveRun plays two variants on real processes. A run that a busy machine did not
// deliver says so with code 3, and is repeated.
func TestLiveRun(t *testing.T) {
	folder(t, small)
	var stdout, stderr bytes.Buffer
	code := 3
	for tries := 0; tries < 3 && code == 3; tries++ {
		stdout.Reset()
		stderr.Reset()
		code = app.RunLoadgen(context.Background(), []string{"run", "small.yaml", "--check", "--format", "json"}, nil, &stdout, &stderr)
	}
	var doc report.Document
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, stderr.String())
	}
	for _, v := range doc.Variants {
		if v.Engine != "live" || v.Partial || !v.Valid() || len(v.Processes) != 3 || v.Goodput == 0 {
			t.Errorf("got %+v", v)
		}
	}
	for _, want := range []string{"fifo: 3s of live load", "2s of 3s  bump", "offered", "record: runs", "check: all as expected"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("got %s, want %q in it", stderr.String(), want)
		}
	}
}

// watcher calls a function once, when it has been told a certain word.
type watcher struct {
	mu   sync.Mutex
	b    bytes.Buffer
	word string
	then func()
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.b.Write(p)
	if w.then != nil && strings.Contains(w.b.String(), w.word) {
		w.then()
		w.then = nil
	}
	return n, err
}

// TestInterrupt ends a run in its second variant: what was measured is kept, and the
// children are gone.
func TestInterrupt(t *testing.T) {
	folder(t, strings.Replace(small, "deadline: {server: {discipline: deadline}}", "long: {horizon: 1h}", 1))
	bound, stop := context.WithTimeout(context.Background(), time.Minute) // a test that hangs fails
	defer stop()
	ctx, cancel := context.WithCancelCause(bound)
	defer cancel(nil)
	var stdout bytes.Buffer
	stderr := &watcher{word: "long:   5s of", then: func() { cancel(boot.Interrupted{Signal: os.Interrupt}) }}
	code := app.RunLoadgen(ctx, []string{"run", "small.yaml", "--out", "kept"}, nil, &stdout, stderr)
	if code != 130 {
		t.Errorf("code %d, want 130\n%s", code, stderr.b.String())
	}
	page, err := report.Open("kept")
	if err != nil || len(page.Variants) != 2 || !page.Manifest.Partial || page.Manifest.Ended == nil {
		t.Fatalf("got %d variants, partial %v, ended %v: %v", len(page.Variants), page.Manifest.Partial, page.Manifest.Ended, err)
	}
	first, second := page.Variants[0], page.Variants[1]
	if first.Partial || first.Requests.Total != 80 {
		t.Errorf("the first variant: partial %v, %+v; want it whole", first.Partial, first.Requests)
	}
	if !second.Partial || !strings.Contains(second.Incident, "interrupt") || len(second.Rows) < 5 || second.Requests.Total < 100 || !second.Conservation.OK {
		t.Errorf("the second variant: partial %v (%s), %d rows, %+v, %+v", second.Partial, second.Incident, len(second.Rows), second.Requests, second.Conservation)
	}
	if !strings.Contains(stdout.String(), "Interrupted after") || !strings.Contains(stderr.b.String(), "interrupted: stopped by signal: interrupt") {
		t.Errorf("got\n%s%s", stdout.String(), stderr.b.String())
	}
}
