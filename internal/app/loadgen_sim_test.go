package app

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shedload/internal/boot"
	"shedload/internal/report"
)

// TestRunSim runs a file in virtual time: table on stdout, a record on disk, and
// nothing but JSON when that is asked for.
func TestRunSim(t *testing.T) {
	workdir(t)
	code, stdout, stderr := loadgen(t, nil, "run", "calm.yaml", "--engine", "sim", "--check", "--out", "a")
	if code != 0 || !strings.Contains(stdout, "calm (sim)") || !strings.Contains(stdout, "record: a") || !strings.Contains(stderr, "all as expected") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	page, err := report.Open("a")
	if err != nil || len(page.Variants) != 2 || page.Manifest.Partial || page.Manifest.Engine != "sim" || len(page.Manifest.Resolved) != 2 {
		t.Fatalf("got %+v, %v", page.Manifest, err)
	}
	if n := len(page.Variants[0].Rows); n != 20 {
		t.Errorf("%d rows, want one a second", n)
	}
	if table, err := os.ReadFile("a/calm.csv"); err != nil || string(table) != "variant,served\none,1049\ntwo,1049\n" {
		t.Errorf("got table %q, %v", table, err)
	}

	code, stdout, stderr = loadgen(t, nil, "run", "calm.yaml/one", "--engine", "sim", "--format", "json", "--seed", "7", "--quiet")
	var doc report.Document
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 || stderr != "" {
		t.Fatalf("code %d, %v; stderr %q", code, err, stderr)
	}
	if len(doc.Variants) != 1 || doc.Variants[0].Variant != "one" || doc.Variants[0].Seed != 7 {
		t.Errorf("got %+v", doc.Variants)
	}
	if records, _ := filepath.Glob("runs/calm-*/summary.json"); len(records) != 1 {
		t.Errorf("got records %q, want one below runs", records)
	}
}

// TestReportAndCompare read records back.
func TestReportAndCompare(t *testing.T) {
	workdir(t)
	for _, out := range []string{"before", "after"} {
		if code, _, stderr := loadgen(t, nil, "run", "calm.yaml", "--engine", "sim", "--out", out); code != 0 {
			t.Fatal(stderr)
		}
	}
	if err := os.Remove("before/report.html"); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := loadgen(t, nil, "report", "before")
	if _, err := os.Stat("before/report.html"); err != nil || code != 0 || !strings.Contains(stdout, "calm (sim)") {
		t.Errorf("code %d, %v\n%s", code, err, stdout)
	}
	code, stdout, _ = loadgen(t, nil, "compare", "before", "after/")
	if code != 0 || !strings.Contains(stdout, "one (before) │    one (after) │   two (before)") {
		t.Errorf("code %d\n%s", code, stdout)
	}
	code, stdout, _ = loadgen(t, nil, "compare", "before", "after", "--format", "json")
	var doc report.Document
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 || len(doc.Variants) != 4 {
		t.Errorf("code %d, %v, %d variants", code, err, len(doc.Variants))
	}
}

// TestCheck exits with 1 when an expectation fails, for each seed.
func TestCheck(t *testing.T) {
	workdir(t)
	code, _, stderr := loadgen(t, nil, "run", "hopeful.yaml", "--engine", "sim", "--check", "--seeds", "2")
	if code != 1 || !strings.Contains(stderr, "expected goodput_share > 1, but goodput_share = 1") || !strings.Contains(stderr, "seed 2: calm/one") {
		t.Errorf("code %d\n%s", code, stderr)
	}
	if code, _, _ := loadgen(t, nil, "run", "hopeful.yaml", "--engine", "sim"); code != 0 {
		t.Errorf("code %d without --check, want 0", code)
	}
}

func TestSeeds(t *testing.T) {
	workdir(t)
	code, stdout, _ := loadgen(t, nil, "run", "calm.yaml", "--engine", "sim", "--seeds", "3", "--seed", "5", "--format", "json")
	var doc report.Document
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
		t.Fatalf("code %d, %v", code, err)
	}
	s := doc.Variants[1].Seeds
	if s == nil || s.Count != 3 || s.First != 5 || s.CollapsedShare != 0 || s.Figures["throughput"].Min != 1049 {
		t.Errorf("got %+v", s)
	}
	if code, stdout, _ = loadgen(t, nil, "run", "calm.yaml", "--engine", "sim", "--seeds", "3"); code != 0 || !strings.Contains(stdout, "median (min – max)") {
		t.Errorf("code %d\n%s", code, stdout)
	}
}

func TestSweep(t *testing.T) {
	workdir(t)
	code, stdout, stderr := loadgen(t, nil, "sweep", "calm.yaml/one", "--vary", "backend.service_time=10ms; uniform:50ms,50.5ms", "--out", "swept")
	if code != 0 || !strings.Contains(stdout, "one@backend.service_time=uniform:50ms,50.5ms") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	if page, err := report.Open("swept"); err != nil || len(page.Variants) != 2 || len(page.Variants[1].Rows) != 20 {
		t.Errorf("got %d variants, %v", len(page.Variants), err)
	}
}

func TestPlan(t *testing.T) {
	workdir(t)
	code, stdout, stderr := loadgen(t, nil, "run", "calm.yaml", "--plan")
	if code != 0 || !strings.Contains(stdout, "calm/one") || !strings.Contains(stdout, "20s") || strings.Contains(stdout, "calm/two") || !strings.Contains(stderr, "because it says so") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = loadgen(t, nil, "run", "shed-your-load/fifo", "--plan", "--format", "json")
	var doc struct{ Variants []forecast }
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
		t.Fatal(err)
	}
	// Each user who comes in the spike waits with one socket until attempts run out.
	if f := doc.Variants[0]; f.LengthS != 90 || f.Sockets < 5000 || f.Sockets > f.Worst || f.Worst > 8000 || f.LoadgenMemory < 100<<20 {
		t.Errorf("got %+v", f)
	}
	if _, err := os.Stat("runs"); !os.IsNotExist(err) {
		t.Error("a plan was run")
	}
}

// TestInterruptedBeforeItBegins is what a Ctrl-C at the wrong moment does.
func TestInterruptedBeforeItBegins(t *testing.T) {
	workdir(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(boot.Interrupted{Signal: os.Interrupt})
	var out, err bytes.Buffer
	if code := RunLoadgen(ctx, []string{"run", "calm.yaml", "--engine", "sim", "--seeds", "100000"}, nil, &out, &err); code != 130 {
		t.Errorf("code %d, want 130: %s", code, err.String())
	}
	if !strings.Contains(err.String(), "interrupted: stopped by signal: interrupt") {
		t.Errorf("got %s", err.String())
	}
}

func TestDemoInVirtualTime(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, err bytes.Buffer
	c := &cli{stdout: &out, stderr: &err, now: clock}
	o := runOptions{engine: engineSim, seeds: 1, format: formatTable}
	if failed := c.runDemo(context.Background(), false, &o); failed != nil {
		t.Fatal(failed)
	}
	for _, want := range []string{"1 of 4: fifo", "4 of 4: deadline", "Look for:", "400 a second", "4 queue disciplines"} {
		if !strings.Contains(err.String(), want) {
			t.Errorf("got %s, want %q in it", err.String(), want)
		}
	}
	parts := []string{"shed-your-load-short (sim)", "fifo: Throughput held", "fifo: ── throughput", "deadline: ── throughput", "record: runs", "What you saw", "under fifo (", "It held under lifo (100 %)", "Next:", "demo --full"}
	at := 0
	for _, want := range parts {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("got %s, want %q after the others", out.String(), want)
		}
		at += i
	}
}
