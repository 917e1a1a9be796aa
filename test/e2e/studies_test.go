package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// axes is a matrix of two by two, small enough to run live.
const axes = `
name: axes
horizon: 4s
backend: {workers: 2, service_time: 20ms}
clients: [{name: users, arrivals: even, rate: 60, until: 3s, patience: 200ms}]
variants:
  server-fifo: {}
  server-deadline: {server: {discipline: deadline, drop_margin: 40ms}}
  trigger-spike: {phases: [{name: spike, at: 1s, for: 1s, rate: 300}]}
  trigger-capacity-loss: {faults: [{at: 1s, for: 1s, capacity_share: 0.5}]}
`

func axesFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "axes.yaml")
	if err := os.WriteFile(file, []byte(axes), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestHysteresisLive walks a live service up to twice its capacity and down again.
func TestHysteresisLive(t *testing.T) {
	r := delivered(t, time.Minute, "loadgen", "hysteresis", axesFile(t)+"/server-fifo", "--engine", "live",
		"--from", "60", "--to", "180", "--step", "60", "--hold", "2s", "--format", "json")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	var printed struct {
		Walks []struct {
			Engine string
			Valid  bool
			Rests  []struct {
				Load       float64 `json:"load_per_s"`
				Requests   float64 `json:"requests_per_s"`
				Throughput float64 `json:"throughput_per_s"`
				Level      float64
			}
			Collapse *float64 `json:"collapse_per_s"`
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &printed); err != nil || len(printed.Walks) != 1 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	w := printed.Walks[0]
	if w.Engine != "live" || !w.Valid || len(w.Rests) != 5 || w.Rests[0].Level < 0.95 {
		t.Errorf("got %+v, want a healthy service at the foot", w)
	}
	for i, rest := range w.Rests {
		if rest.Requests < rest.Load*0.9 || rest.Requests > rest.Load*1.1 || rest.Throughput > 105 {
			t.Errorf("rest %d: %+v", i, rest)
		}
	}
	if w.Collapse == nil || *w.Collapse < 120 {
		t.Errorf("goodput fell at %v, want at 120 or above: two workers finish 100 a second", w.Collapse)
	}
}

// TestMatrixLive runs a matrix of two by two on real processes: in each cell the same
// arrivals for both servers.
func TestMatrixLive(t *testing.T) {
	r := delivered(t, 2*time.Minute, "loadgen", "matrix", axesFile(t), "--engine", "live", "--format", "json")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	var printed struct {
		Engine string
		Cells  []struct {
			Values  []string
			Summary struct {
				Engine       string
				Requests     struct{ Total int64 }
				Goodput      int64
				Conservation struct{ OK bool }
			}
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &printed); err != nil || len(printed.Cells) != 4 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	for i := 0; i < 4; i += 2 {
		fifo, deadline := printed.Cells[i], printed.Cells[i+1]
		if fifo.Values[0] != "fifo" || deadline.Values[0] != "deadline" || fifo.Values[1] != deadline.Values[1] {
			t.Fatalf("the cells are out of order: %v, %v", fifo.Values, deadline.Values)
		}
		if fifo.Summary.Requests.Total != deadline.Summary.Requests.Total || fifo.Summary.Engine != "live" || !fifo.Summary.Conservation.OK {
			t.Errorf("%v: %+v and %+v, want the same arrivals", fifo.Values, fifo.Summary, deadline.Summary)
		}
		if deadline.Summary.Goodput < fifo.Summary.Goodput {
			t.Errorf("%v: goodput %d with fifo and %d with deadline", fifo.Values, fifo.Summary.Goodput, deadline.Summary.Goodput)
		}
	}
}
