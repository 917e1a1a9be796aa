package app

import (
	"encoding/json"
	"strings"
	"testing"
)

// tipping is a service that a long enough slowdown tips over.
const tipping = `name: tipping
about: Retries that keep a slow second going.
horizon: 30s
backend: {workers: 4, service_time: 30ms}
clients: [{name: users, arrivals: poisson, rate: 100, patience: 500ms, retry: {attempts: 4, on: [timeout]}}]
faults: [{at: 5s, for: 1s, service_time: 90ms}]
variants:
  fifo: {}
  lifo: {server: {discipline: lifo}}
`

func TestTip(t *testing.T) {
	workdir(t)
	write(t, "tipping.yaml", tipping)
	code, out, stderr := loadgen(t, nil, "tip", "tipping.yaml", "--vary", "faults.0.for=100ms..3s", "--seeds", "6")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"tipping/fifo\n", "│ faults.0.for │ stays down │", "Half of the runs stay down at faults.0.for=", "tipping/lifo\n", "No tipping point of faults.0.for between 100ms and 3s: of the runs 0 % and 0 % stay down there."} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(stderr, "fifo: faults.0.for=3s: 6 of 6 stay down") {
		t.Errorf("progress is\n%s", stderr)
	}
	code, again, stderr := loadgen(t, nil, "tip", "tipping.yaml/fifo", "--vary", "faults.0.for=100ms..3s", "--seeds", "6", "--format", "json", "-q")
	var printed struct {
		Tips []struct {
			Scenario, Variant, Setting string
			Seeds                      int
			Points                     []struct {
				Value string
				P     float64
				Runs  int
			}
			Found bool
			Half  float64
			Said  string `json:"sentence"`
		}
	}
	if err := json.Unmarshal([]byte(again), &printed); err != nil || code != 0 || stderr != "" {
		t.Fatalf("code %d, %v; stderr %q", code, err, stderr)
	}
	tip := printed.Tips[0]
	if len(printed.Tips) != 1 || !tip.Found || tip.Half <= 0.1 || tip.Half >= 3 || tip.Points[0].Value != "100ms" || tip.Points[0].Runs != 6 || !strings.Contains(out, tip.Said) {
		t.Errorf("%+v", tip)
	}
}

func TestTipRefusesWhatItCannotVary(t *testing.T) {
	workdir(t)
	for _, c := range []struct{ vary, want string }{
		{"faults.0.for", "is written path=LOW..HIGH"},
		{"=1s..2s", "is written path=LOW..HIGH"},
		{"backend.workers=9..3", "the first value must be below the second"},
		{"backend.wrkers=1..3", `unknown path "wrkers": did you mean "workers"?`},
		{"backend.workers=1s..3s", "backend.workers"},
	} {
		code, out, stderr := loadgen(t, nil, "tip", "calm.yaml/one", "--vary", c.vary)
		if code != exitUsage || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: code %d\n%s%s", c.vary, code, out, stderr)
		}
	}
}
