package app

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestHysteresis walks two services in virtual time: one with a loop, one without.
func TestHysteresis(t *testing.T) {
	workdir(t)
	code, out, stderr := loadgen(t, nil, "hysteresis", "-q")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{
		"hysteresis/retries (sim): goodput over load", "retries: Goodput collapsed at 90/s and had not returned at 20/s",
		"retries-deadline: Goodput held at every load from 20/s to 100/s.", "│ load/s │ up: goodput/s │",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}

	code, out, stderr = loadgen(t, nil, "hysteresis", "calm.yaml/one", "--from", "50", "--to", "150", "--step", "50", "--hold", "3s", "--format", "json", "-q")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var printed struct {
		Walks []struct {
			Scenario, Variant, Engine string
			HoldS                     int `json:"hold_s"`
			Rests                     []struct {
				Load float64 `json:"load_per_s"`
				Up   bool
			}
			Collapse *float64 `json:"collapse_per_s"`
			Valid    bool
			Said     string `json:"sentence"`
		}
	}
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(printed.Walks) != 1 {
		t.Fatalf("got %s", out)
	}
	w := printed.Walks[0]
	if w.Scenario != "calm" || w.Variant != "one" || w.Engine != "sim" || w.HoldS != 3 || len(w.Rests) != 5 || w.Rests[2].Load != 150 || w.Rests[3].Up || w.Collapse != nil || !w.Valid {
		t.Errorf("got %+v", w)
	}

	if code, out, _ := loadgen(t, nil, "hysteresis", "hysteresis/retries", "--engine", "live", "--plan"); code != 0 || !strings.Contains(out, "2m50s") {
		t.Errorf("exit code %d, the plan is\n%s", code, out)
	}
}

func TestWrongWalks(t *testing.T) {
	workdir(t)
	for line, want := range map[string]string{
		"hysteresis nowhere":                         `unknown scenario "nowhere"`,
		"hysteresis calm.yaml --from 90 --to 20":     "from 90/s to 20/s",
		"hysteresis calm.yaml --hold 1500ms":         "whole seconds",
		"hysteresis calm.yaml --step -1":             "steps of -1/s",
		"hysteresis bulkheads/unshed":                "client users: a walk sets the rate",
		"hysteresis calm.yaml --engine fast":         `unknown engine "fast"`,
		"hysteresis calm.yaml --target http://x.org": "virtual time has no target",
	} {
		if code, _, stderr := loadgen(t, nil, strings.Fields(line)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s; want %q", line, code, stderr, want)
		}
	}
}
