package app

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"shedload/internal/report"
	"shedload/internal/study"
)

// TestDrift holds a run in virtual time, in the part of the measurement, to its own
// prediction, and one of another seed.
func TestDrift(t *testing.T) {
	workdir(t)
	choices, err := choose([]string{"calm.yaml/one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := choices[0].plans[0]
	var out bytes.Buffer
	c := &cli{stdout: &out, stderr: &out, quiet: true, style: report.Style{Width: 200}}
	measured, err := c.simulate(context.Background(), p, &runOptions{engine: engineSim, seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	same, err := drifted(p, measured, nil)
	if err != nil || !same.OK || !same.Valid {
		t.Fatalf("%+v, %v", same, err)
	}
	measured.Throughput /= 2
	measured.Recovery.Verdict = "collapsed"
	off, err := drifted(p, measured, study.Tolerances{"goodput": 1})
	if err != nil || off.OK {
		t.Fatalf("%+v, %v", off, err)
	}
	if err := c.showDrift(off); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"│ throughput         │     1,049 │       524 │    -50.0 % │      ± 5 % │ BEYOND │",
		"│ goodput            │     1,049 │     1,049 │     +0.0 % │      ± 1 % │ ok     │",
		"│ served_p50_ms      │", "not judged", "│   the same │ BEYOND │",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestDriftRefusesWrongTolerances(t *testing.T) {
	workdir(t)
	code, out, stderr := loadgen(t, nil, "drift", "calm.yaml/one", "--tolerance", "thruput=5")
	if code != exitUsage || out != "" || !strings.Contains(stderr, `unknown metric "thruput": allowed are requests, attempts,`) {
		t.Errorf("code %d\n%s%s", code, out, stderr)
	}
}
