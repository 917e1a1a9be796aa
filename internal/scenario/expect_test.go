package scenario

import (
	"fmt"
	"strings"
	"testing"

	"shedload/internal/ledger"
)

// summary is a finished run that the tests below look at.
func summary(variant string) ledger.Summary {
	after := 19.0
	return ledger.Summary{
		Scenario: "small", Variant: variant, Engine: "sim", GoodputShare: 0.5, Throughput: 1000, Goodput: 500, HorizonS: 90,
		Peak:      ledger.Peak{Queue: 60},
		Attempts:  ledger.Attempts{Total: 2000, Late: 500, Refused: map[string]int64{"queue_full": 7}},
		LatencyMS: ledger.Latencies{Served: ledger.Quantiles{P50: 1.25, P99: 200}},
		Classes:   map[string]ledger.ClassSummary{"critical": {Requests: ledger.Requests{Total: 3}}},
		Windows:   []ledger.Window{{Name: "start", ToS: 20, Requests: 800, Succeeded: 496}},
		Recovery:  ledger.Recovery{Verdict: "recovered", UsersVerdict: "undecided", GoodputAfterS: &after},
	}
}

// check runs one expectation against the summary above.
func check(t *testing.T, expectation string) []Failure {
	t.Helper()
	p := plansOf(t, mustLoad(t, change(t, `"goodput_share < 0.25"`, fmt.Sprintf("%q", expectation))))["fifo"]
	return p.Check(summary("fifo"))
}

func TestExpectationsThatHold(t *testing.T) {
	for _, e := range []string{
		"goodput_share == 0.5", "goodput_share <= 0.5 && peak.queue == 60", "goodput / throughput == 0.5",
		"verdict == 'recovered'", "users_verdict == 'undecided'", "recovery.goodput_after_s == 19", "recovery.users_after_s == nil",
		"verdict in ['steady', 'recovered']", "(recovery.users_after_s ?? 0) == 0", "!partial", "engine == 'sim'",
		"attempts.refused.queue_full == 7", "attempts.refused.priority == 0", "attempts.dropped.doomed == 0",
		"classes.critical.requests.total == 3", "classes.other.requests.total == 0",
		"window.start.requests == 800", "windows[0].succeeded == 496", "pct(window.start.succeeded, window.start.requests) == 62",
		"fixed1(pct(496, 800)) == '62.0'", "fixed2(2) == '2.00'", "pct(1, 0) == 0",
		"within(throughput, 900, 1100)", "within(throughput, 1010, 1100, 1)", "!within(throughput, 1020, 1100, 1)",
		"window.start.completed.sojourn_ms.p99 == 0", "latency_ms.served.p99 == 200",
	} {
		if f := check(t, e); len(f) != 0 {
			t.Errorf("%s", f[0])
		}
	}
}

func TestExpectationsThatFail(t *testing.T) {
	for e, seen := range map[string]string{
		"goodput_share > 0.97":                                  "goodput_share = 0.5",
		"goodput / throughput > 0.9 || goodput > 600":           "goodput = 500, throughput = 1000",
		"attempts.refused.queue_full + peak.queue == 1":         "attempts.refused.queue_full = 7, peak.queue = 60",
		"recovery.users_after_s < 40":                           "it cannot be said",
		"verdict == 'steady'":                                   "verdict = recovered",
		"pct(window.start.succeeded, windows[0].requests) > 90": "window.start.succeeded = 496, windows[0].requests = 800",
	} {
		got := check(t, e)
		if len(got) != 1 {
			t.Errorf("%s: got %v", e, got)
			continue
		}
		f := got[0]
		if !strings.HasPrefix(f.Seen, seen) || f.Expect != e || f.Variant != "fifo" || f.At.Line != 23 {
			t.Errorf("got %s, want %s", f, seen)
		}
	}
}

func TestExpectationsOfOneEngine(t *testing.T) {
	s := mustLoad(t, small+"expect_sim: {\"*\": [\"peak.queue == 1\"]}\nexpect_live: {fifo: [\"peak.queue == 2\"]}\n")
	p := plansOf(t, s)["fifo"]
	run := summary("fifo")
	for engine, want := range map[string]string{"sim": "peak.queue == 1", "live": "peak.queue == 2"} {
		run.Engine = engine
		got := p.Check(run)
		if len(got) != 2 || got[1].Expect != want { // the first is of both engines
			t.Errorf("%s: got %v", engine, got)
		}
	}
	if len(p.Expect) != 3 {
		t.Errorf("the plan lists %q", p.Expect)
	}
}

func TestExpectationsAcrossVariants(t *testing.T) {
	s := mustLoad(t, small)
	plans, err := s.Plans([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	runs := []ledger.Summary{summary("fifo"), summary("deadline"), summary("busy")}
	got := s.CheckAll(plans, runs)
	if len(got) != 1 || got[0].Variant != "all" || got[0].Seen != "v.fifo.peak.queue = 60, v.deadline.peak.queue = 60" {
		t.Errorf("got %v", got)
	}
	runs[0].Peak.Queue = 61
	if got := s.CheckAll(plans, runs); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	// One that needs a variant which did not run is left out.
	if got := s.CheckAll(plans[:1], runs[:1]); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestTables(t *testing.T) {
	const tables = `tables:
  - file: sweep.csv
    variants: [fifo, deadline]
    columns:
      - {name: policy, value: variant}
      - {name: offered_rps, value: fixed1(attempts.total / horizon_s)}
      - {name: p99_ms, value: "fixed1(p(latency_ms.served, 99))"}
      - {name: p50_ms, value: "p(latency_ms.served, 50)"}
      - {name: late_pct, value: "fixed1(pct(attempts.late, throughput))"}
  - file: windows.csv
    rows: windows
    variants: [fifo, deadline]
    columns:
      - {name: from_ms, value: round(from_s * 1000)}
      - {name: fifo, value: "v.fifo.window[name].succeeded"}
      - {name: deadline, value: "v.deadline.window[name].requests"}
`
	s := mustLoad(t, small+tables)
	plans, err := s.Plans([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	runs := []ledger.Summary{summary("fifo"), summary("deadline"), summary("busy")}
	for i, want := range []string{
		"policy,offered_rps,p99_ms,p50_ms,late_pct\nfifo,22.2,200.0,1.25,50.0\ndeadline,22.2,200.0,1.25,50.0\n",
		"from_ms,fifo,deadline\n0,496,800\n",
	} {
		got, err := s.Render(s.Tables[i], plans, runs)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v\nwant %q", got, err, want)
		}
	}
	if _, err := s.Render(s.Tables[0], plans[:1], runs[:1]); err == nil || !strings.Contains(err.Error(), "deadline, which did not run") {
		t.Errorf("got %v", err)
	}
}

func TestWrongTables(t *testing.T) {
	for table, want := range map[string]string{
		"{file: a.csv, columns: [{name: x, value: goodput_shar}]}":        `unknown name "goodput_shar": did you mean "goodput_share"?`,
		"{file: a.csv, rows: rows, columns: [{name: x, value: goodput}]}": `unknown value "rows": allowed are variants, windows`,
		"{file: ../a.csv, columns: [{name: x, value: goodput}]}":          "needs a file, a plain name such as sweep.csv, and columns",
		"{file: a.csv}": "needs a file, a plain name such as sweep.csv, and columns",
		"{file: a.csv, variants: [fofo], columns: [{name: x, value: goodput}]}":      `unknown variant "fofo": did you mean "fifo"?`,
		"{file: a.csv, rows: windows, columns: [{name: x, value: v.fifo.goodputt}]}": `unknown name "goodputt": did you mean "goodput"?`,
	} {
		if _, err := load(small + "tables:\n  - " + table + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", table, err, want)
		}
	}
}
