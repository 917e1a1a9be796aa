package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shedload/internal/ledger"
)

// crashScenario is a spike small enough for any machine. Its lease time-out is
// short, so that the units of a killed backend are lost within the run.
const crashScenario = `
name: crash
horizon: 14s
server: {discipline: deadline, drop_margin: 70ms, lease_timeout: 1s}
backend: {workers: 4, service_time: 20ms}
clients:
  - {name: users, arrivals: poisson, rate: 60, patience: 500ms, retry: {attempts: 5, on: [timeout, refusal, error], backoff: {kind: fixed, base: 50ms}}}
phases:
  - {name: spike, at: 3s, for: 4s, rate: 240}
expect:
  base: ["conservation.ok"]
`

// TestABackendKilledInMidSpike kills the backend while it works, starts another,
// and requires that every attempt is accounted for.
func TestABackendKilledInMidSpike(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "crash.yaml")
	if err := os.WriteFile(plan, []byte(crashScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	api := start(t, []string{"SHEDLOAD_LEASE_TIMEOUT=1s"}, "apiserver")
	environ := []string{"SHEDLOAD_API_URL=" + api.url("workers"), "SHEDLOAD_SERVICE_TIME=20ms"}
	backend := start(t, environ, "backend")

	c := exe(t, time.Minute, nil, "loadgen", "run", plan, "--target", api.url("public"), "--admin", api.url("admin"),
		"--check", "--format", "json", "--out", filepath.Join(t.TempDir(), "record"))
	var stdout strings.Builder
	c.Stdout = &stdout
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if backend != nil && strings.Contains(lines.Text(), "spike") { // the spike is on
			backend.kill()
			backend = nil
			start(t, environ, "backend")
		}
	}
	err = c.Wait()
	if backend != nil {
		t.Fatalf("the spike was never seen:\n%s", said.String())
	}
	s := summaries(t, stdout.String())["base"]
	if err != nil && s.Generator.Delivered { // the sums must hold even where the machine was too busy
		t.Errorf("loadgen: %v\n%s", err, said.String())
	}
	if s.Attempts.Lost == 0 {
		t.Error("the killed backend had work in hand, and nothing was lost")
	}
	a := s.Attempts
	if sum := a.OnTime + a.Late + a.RefusedTotal + a.DroppedTotal + a.Failed + a.Canceled + a.Lost + a.Unfinished; sum != a.Total {
		t.Errorf("attempts %+v: the parts make %d of %d", a, sum, a.Total)
	}
	if !s.Conservation.OK || s.Partial {
		t.Errorf("conservation %+v, partial %v", s.Conservation, s.Partial)
	}
	if s.Recovery.Verdict == "collapsed" {
		t.Errorf("a second backend did not bring goodput back: %s", s.Sentence())
	}
	t.Logf("lost %d of %d attempts, gap %d with %d in flight", a.Lost, a.Total, s.Conservation.ClientServerGap, s.Conservation.InFlight)
}

// TestInterruptKeepsWhatWasMeasured interrupts a run: exit 130, a partial record,
// no children left.
func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	c, lines, children := midRun(t, "shed-your-load-short/deadline", record)
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, said.String())
	}
	var kept struct{ Variants []ledger.Summary }
	if err := json.Unmarshal(file(t, record, "summary.json"), &kept); err != nil || len(kept.Variants) != 1 {
		t.Errorf("summary.json has %d variants (%v), want 1", len(kept.Variants), err)
	} else if s := kept.Variants[0]; !s.Partial || s.Attempts.Total == 0 {
		t.Errorf("the record says partial %v with %d attempts", s.Partial, s.Attempts.Total)
	}
	if rows := strings.Count(string(file(t, record, "timeseries-deadline.csv")), "\n"); rows < 2 {
		t.Errorf("no second was kept: %d lines", rows)
	}
	file(t, record, "manifest.json")
	gone(t, children)
}

// TestChildrenEndWithTheirParent kills loadgen hard: its children must not outlive it.
func TestChildrenEndWithTheirParent(t *testing.T) {
	c, _, children := midRun(t, "shed-your-load-short/fifo", filepath.Join(t.TempDir(), "record"))
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	gone(t, children)
}

// midRun starts a run and returns when its first progress was told.
func midRun(t *testing.T, name, record string) (*exec.Cmd, *bufio.Scanner, []int) {
	t.Helper()
	c := exe(t, time.Minute, nil, "loadgen", "run", name, "--out", record)
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(progress)
	for lines.Scan() && !strings.Contains(lines.Text(), "offered") {
	}
	children := childrenOf(t, c.Process.Pid)
	if len(children) != 2 {
		t.Errorf("%d children, want an apiserver and a backend", len(children))
	}
	return c, lines, children
}

func file(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return text
}

// gone waits until none of the processes is there any more.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); running(t, pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("child %d is still there", pid)
				break
			}
		}
	}
}
