package app

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMatrix(t *testing.T) {
	t.Chdir(t.TempDir())
	only := []string{"matrix", "--only", "server-fifo,server-cure", "--only", "work-steady,clients-retries"}
	code, out, stderr := loadgen(t, nil, only...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"matrix (sim), by server:", "│ trigger ", "│ spike ", "│ capacity-loss ", "collapsed", "stayed down", "2 of 2", "0 of 2"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	_, out, _ = loadgen(t, nil, append(only, "--format", "json", "--set", "horizon=40s")...)
	var printed struct {
		Axes []struct {
			Name   string
			Values []string
		}
		Cells []struct {
			Values  []string
			Summary struct {
				HorizonS float64 `json:"horizon_s"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(printed.Axes) != 4 || len(printed.Cells) != 4 || len(printed.Cells[0].Values) != 4 || printed.Cells[3].Summary.HorizonS != 40 {
		t.Errorf("got %+v", printed)
	}
	if code, out, _ := loadgen(t, nil, append(only, "--engine", "live", "--plan")...); code != 0 || !strings.Contains(out, "4m40s") {
		t.Errorf("exit code %d, the plan is\n%s", code, out)
	}
}

func TestWrongMatrices(t *testing.T) {
	workdir(t)
	for line, want := range map[string]string{
		"matrix nowhere":               `unknown scenario "nowhere"`,
		"matrix calm.yaml":             "variant one: a matrix is made of variants whose names are AXIS-VALUE",
		"matrix --only server-fifi":    `unknown variant "server-fifi"`,
		"matrix --engine fast":         `unknown engine "fast"`,
		"matrix a b":                   "accepts at most 1 arg",
		"matrix --set server.nothing=": "nothing",
	} {
		if code, _, stderr := loadgen(t, nil, strings.Fields(line)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s; want %q", line, code, stderr, want)
		}
	}
}
