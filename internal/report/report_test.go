package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shedload/internal/ledger"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file in testdata; -update rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got\n%s", path, got)
	}
}

func ptr(x float64) *float64 { return &x }

// rows is a run of ten seconds with a spike from 2 to 4 s, after which goodput
// stays away if collapsed.
func rows(collapsed bool) ledger.Rows {
	var out ledger.Rows
	for t := range 10 {
		r := ledger.Row{T: t}
		r.Requests, r.Sent, r.Throughput = 60, 60, 60
		if t >= 2 && t < 4 {
			r.Requests = 400
		}
		if t >= 2 {
			r.Sent, r.Throughput, r.Queue = int64(400+200*t), 80, int64(1000*t)
			r.OldestAge = time.Duration(t) * 250 * time.Millisecond
		}
		r.Goodput = r.Throughput
		if collapsed && t >= 3 {
			r.Goodput, r.Late = 0, r.Throughput
		}
		r.Offered, r.GoodputClient = r.Sent, r.Goodput
		out = append(out, r)
	}
	return out
}

// variants are a collapsed live run and a steady one.
func variants() []Variant {
	bad := Variant{
		About: "The oldest first.", Discipline: "fifo", Seed: 1, TriggerStartS: 2, Rows: rows(true),
		Said:      "Throughput held at 80/s; goodput fell to 0 when the spike began and has not come back 6 s after it ended: collapsed.",
		Processes: map[string]Process{"apiserver": {0.48, 4.8, 130 << 20}, "loadgen": {0.62, 6.2, 41<<20 + 1}},
	}
	bad.Summary = ledger.Summary{
		Scenario: "storm", Variant: "fifo", Engine: "live", View: "both", HorizonS: 10,
		Requests: ledger.Requests{Total: 1280, Succeeded: 180, GaveUp: 1000, Unfinished: 100},
		Attempts: ledger.Attempts{
			Total: 12800, OnTime: 180, Late: 560, Unfinished: 12060,
			Refused: map[string]int64{"queue_full": 0}, Dropped: map[string]int64{"expired": 0, "doomed": 0},
		},
		Throughput: 740, Goodput: 180, GoodputClient: 178, ThroughputPS: 74, GoodputPS: 18, GoodputClPS: 17.8,
		GoodputShare: 180.0 / 740, Amplification: 10, WorkS: 37, WastedWorkS: 28, WastedShare: 560.0 / 740,
		Peak:         ledger.Peak{Queue: 9000, OfferedPerS: 2200},
		LatencyMS:    ledger.Latencies{Served: ledger.Quantiles{P50: 4200, P99: 12_345, Max: 13_000}, Request: ledger.Quantiles{P50: 61.25, P99: 980, Max: 999}},
		Recovery:     ledger.Recovery{Trigger: "spike", TriggerEndS: ptr(4), Verdict: ledger.Collapsed, UsersVerdict: ledger.Collapsed},
		Generator:    ledger.Generator{LatenessMS: ledger.Quantiles{P50: 0.05, P99: 2.5, Max: 9}, Sends: 12800, Delivered: true},
		Conservation: ledger.Conservation{OK: true, ClientServerGap: 2, InFlight: 400},
	}
	good := bad
	good.About, good.Discipline, good.Said, good.Rows = "Drops what cannot finish in time.", "fifo+deadline", "Goodput held at 80/s through the spike: steady.", rows(false)
	good.Variant, good.Goodput, good.GoodputPS, good.GoodputShare = "deadline", 740, 74, 1
	good.GoodputClient, good.GoodputClPS, good.WastedWorkS, good.WastedShare = 740, 74, 0, 0
	good.Attempts = ledger.Attempts{Total: 12800, OnTime: 740, DroppedTotal: 12000, Dropped: map[string]int64{"expired": 0, "doomed": 12000}, Unfinished: 60}
	good.LatencyMS.ShedWait = ledger.Quantiles{P50: 930, P99: 949.5, Max: 950}
	good.Recovery.Verdict, good.Recovery.UsersVerdict = ledger.Steady, ledger.Undecided
	good.Generator.Missed, good.Generator.Delivered = 13, false
	good.Partial, good.Incident = true, "interrupted"
	return []Variant{bad, good}
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTables(t *testing.T) {
	vs := variants()
	golden(t, "table.txt", written(t, func(w io.Writer) error { return WriteTable(w, vs, Style{}) }))
	golden(t, "rows.txt", written(t, func(w io.Writer) error { return WriteRows(w, vs, Style{}) }))
	for i := range vs {
		other := vs[i].Summary
		other.Goodput, other.Recovery.Verdict = 200, ledger.Recovered
		vs[i].Seeds = SeedsOf(1, []ledger.Summary{vs[i].Summary, other, vs[i].Summary})
	}
	golden(t, "seeds.txt", written(t, func(w io.Writer) error { return WriteSeeds(w, vs, Style{}) }))
}

// TestTableFitsTheTerminal splits what is too wide for it, and paints only where
// colours are allowed.
func TestTableFitsTheTerminal(t *testing.T) {
	wide := written(t, func(w io.Writer) error { return WriteTable(w, variants(), Style{Width: 55}) })
	if n := strings.Count(wide, "╭"); n != 2 {
		t.Errorf("%d tables, want one a variant:\n%s", n, wide)
	}
	for line := range strings.Lines(wide) {
		if n := len([]rune(strings.TrimSpace(line))); n > 55 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if strings.Contains(wide, "\x1b[") {
		t.Error("colours, although none are allowed")
	}
	colored := written(t, func(w io.Writer) error { return WriteTable(w, variants(), Style{Color: true}) })
	if !strings.Contains(colored, "\x1b[31mcollapsed") || !strings.Contains(colored, "\x1b[32msteady") {
		t.Errorf("no colours:\n%q", colored)
	}
}

// TestTableOfPlainClients has no server's view, and says nothing about it.
func TestTableOfPlainClients(t *testing.T) {
	vs := variants()[:1]
	vs[0].View = "client"
	got := written(t, func(w io.Writer) error { return WriteTable(w, vs, Style{}) })
	for _, absent := range []string{"throughput", "goodput share", "peak queue", "wasted work"} {
		if strings.Contains(got, absent) {
			t.Errorf("%s is shown, but nobody knows it:\n%s", absent, got)
		}
	}
}

func TestGraph(t *testing.T) {
	golden(t, "graph.txt", written(t, func(w io.Writer) error { return WriteGraph(w, variants()[0], Style{}) }))
	if got := written(t, func(w io.Writer) error { return WriteGraph(w, Variant{}, Style{}) }); got != "" {
		t.Errorf("got %q of a run without rows", got)
	}
}

func TestJSON(t *testing.T) {
	golden(t, "summary.json", written(t, func(w io.Writer) error { return WriteJSON(w, Document{variants()}) }))
	if got := written(t, func(w io.Writer) error { return WriteJSON(w, Document{}) }); strings.Join(strings.Fields(got), "") != `{"variants":[]}` {
		t.Errorf("got %s, want an empty list", got)
	}
}

// TestJSONNames holds the names that the design fixes, so that a renamed field is
// no accident.
func TestJSONNames(t *testing.T) {
	var doc struct{ Variants []map[string]any }
	if err := json.Unmarshal([]byte(written(t, func(w io.Writer) error { return WriteJSON(w, Document{variants()}) })), &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(`scenario variant engine partial requests.total requests.succeeded requests.gave_up
		requests.throttled requests.unfinished attempts.total attempts.on_time attempts.late attempts.refused.queue_full
		attempts.dropped.doomed attempts.failed attempts.canceled attempts.lost attempts.unfinished resumes client_errors
		throughput goodput goodput_client goodput_share amplification wasted_work_s wasted_share peak.queue peak.offered_per_s
		latency_ms.served.p50 latency_ms.served.p99 latency_ms.served.max latency_ms.shed_wait.p50 latency_ms.request.p99
		classes windows recovery.trigger_end_s recovery.verdict recovery.users_verdict recovery.goodput_after_s
		recovery.users_after_s generator.lateness_ms.p50 generator.lateness_ms.max generator.missed generator.delivered
		conservation.ok conservation.client_server_gap sentence seed`) {
		var at any = doc.Variants[0]
		for _, name := range strings.Split(path, ".") {
			m, _ := at.(map[string]any)
			value, ok := m[name]
			if !ok {
				t.Errorf("%s is missing", path)
				break
			}
			at = value
		}
	}
}

func TestPage(t *testing.T) {
	vs := variants()
	vs[0].About = `<script>alert("x")</script>`
	end := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
	p := Page{Manifest: Manifest{
		Scenario: "storm", Engine: "live", Seed: 1, Started: end.Add(-time.Minute), Ended: &end, Partial: true,
		Command: []string{"run", "storm"}, Host: Host{OS: "linux", Arch: "amd64", CPUs: 2},
	}, Variants: vs}
	got := written(t, func(w io.Writer) error { return WritePage(w, p) })
	golden(t, "report.html", got)

	d := xml.NewDecoder(strings.NewReader(got))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	for _, absent := range []string{"<script", "src=", "href=", "@import", "url(", "NaN", "Inf"} {
		if strings.Contains(got, absent) {
			t.Errorf("the page has %s in it", absent)
		}
	}
	for _, present := range []string{
		"prefers-color-scheme: dark", "@media print", `id="summary"`, `id="trust"`, "This record is partial",
		"class=\"line goodput\"", "class=\"line throughput\"", "class=\"line offered\"", "class=\"line late\"", "class=\"trigger\"",
		"Throughput held at 80/s; goodput fell to 0", "13 of 12,800 sends missed",
	} {
		if !strings.Contains(got, present) {
			t.Errorf("the page has no %s", present)
		}
	}
	if n := strings.Count(got, "<svg "); n != 3*len(vs) {
		t.Errorf("%d charts, want 3 a variant", n)
	}
}

// TestPageWithoutRows is what the page of a run looks like that has only begun.
func TestPageWithoutRows(t *testing.T) {
	if got := written(t, func(w io.Writer) error { return WritePage(w, Page{}) }); !strings.Contains(got, "</html>") {
		t.Errorf("got %s", got)
	}
	v := Variant{Rows: rows(false)[:1]}
	if got := written(t, func(w io.Writer) error { return WritePage(w, Page{Variants: []Variant{v}}) }); !strings.Contains(got, "Too short to draw") {
		t.Errorf("got %s", got)
	}
}

func TestFigures(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.004: "0", 0.25: "0.25", 9.994: "9.99", 9.999: "10", 12.34: "12.3", 99.94: "99.9", 99.96: "100", 1234567.8: "1,234,568", -0.001: "0", -12: "-12",
	} {
		if got := figure(x); got != want {
			t.Errorf("figure(%v) = %q, want %q", x, got, want)
		}
	}
	for x, want := range map[float64]string{0.9: "1", 1: "1", 1.2: "2", 3: "5", 6: "10", 70: "100", 0.03: "0.05"} {
		if got := figure(niceStep(x)); got != want {
			t.Errorf("niceStep(%v) = %s, want %s", x, got, want)
		}
	}
	if got := Count(-1234567); got != "-1,234,567" {
		t.Errorf("got %s", got)
	}
}

func TestSeeds(t *testing.T) {
	var runs []ledger.Summary
	for i, verdict := range []string{ledger.Collapsed, ledger.Steady, ledger.Collapsed, ledger.Collapsed} {
		runs = append(runs, ledger.Summary{Throughput: int64(10 * (4 - i)), Recovery: ledger.Recovery{Verdict: verdict, UsersVerdict: ledger.Collapsed}})
	}
	s := SeedsOf(7, runs)
	if s.Count != 4 || s.First != 7 || s.CollapsedShare != 0.75 || s.UsersCollapsedShare != 1 || s.Verdicts[ledger.Steady] != 1 {
		t.Errorf("got %+v", s)
	}
	if got := s.Figures["throughput"]; got != (Spread{Median: 25, Min: 10, Max: 40}) {
		t.Errorf("got %+v", got)
	}
}
