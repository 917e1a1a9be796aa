package fluid

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shedload/internal/scenario"
)

// base is a scenario in steps to change lines of.
const base = `name: steps
horizon: 20s
server: {discipline: fifo, queue_hard_limit: 100000000}
backend: {workers: 10, service_time: 100ms}
clients:
  - {name: users, arrivals: even, rate: 80, patience: 1s, retry: {attempts: 3, backoff: {kind: exponential, base: 1s}}}
model: {step: 100ms}
`

// failer is what a testing.TB and a rapid.T have in common here.
type failer interface {
	Helper()
	Fatal(...any)
}

func load(t failer, text string) scenario.Plan {
	t.Helper()
	s, err := scenario.Load("f.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans(nil)
	if err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

func run(t failer, text string) Result {
	t.Helper()
	r, err := Run(load(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOneSecondRules follows the published rules step by step, where every number
// can be worked out by hand: 5 a second arrive, 3 are served, patience is 1 s.
func TestOneSecondRules(t *testing.T) {
	r := run(t, `name: hand
horizon: 6s
backend: {workers: 3, service_time: 1s}
clients:
  - {name: users, arrivals: even, rate: 5, until: 2s, patience: 1s, retry: {attempts: 2, backoff: {kind: fixed, base: 1s}}}
model: {step: 1s}
`)
	// s  arrive        queue before   served          queue  given up at its end
	// 0  5 (a)         a5             a3 good         a2     -
	// 1  5 (b)         a2 b5          a2 b1 good      b4     -        (a: all served)
	// 2  -             b4             b3 good         b1     b1, tried again at 3
	// 3  b1'           b1 b1'         b1 late, b1' ok        -
	var got []string
	for _, row := range r.Ledger.Rows(0) {
		got = append(got, fmt.Sprintf("%d offered %d finished %d good %d late %d queued", row.Offered, row.Throughput, row.GoodputClient, row.Late, row.Queue))
	}
	want := []string{
		"5 offered 3 finished 3 good 0 late 2 queued", "5 offered 3 finished 3 good 0 late 4 queued", "0 offered 3 finished 3 good 0 late 1 queued",
		"1 offered 2 finished 1 good 1 late 0 queued", "0 offered 0 finished 0 good 0 late 0 queued", "0 offered 0 finished 0 good 0 late 0 queued",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestConservation: whatever is switched on, every attempt and every request ends in
// one place, and no two runs differ.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
		text := fmt.Sprintf(`name: random
horizon: 12s
server: {discipline: %s, silent_drops: %s, cancel_abandoned: true, door: %s, queue_hard_limit: %s}
backend: {workers: %s, service_time: %s}
clients:
  - {name: users, arrivals: %s, rate: %s, patience: %s, wait: %s, retry: {attempts: 4, backoff: %s}, gates: %s}
  - {name: bots, arrivals: burst, count: 30, from: 3s, patience: 700ms, request_deadline: 2s, retry: {attempts: 9}}
classes: [{name: critical, criticality: critical, every: 5}, {name: other}]
faults: %s
end: {queued: %s, in_service: %s}
model: {step: %s}
`,
			pick("discipline", "fifo", "lifo", "edf", "priority", "fifo+expired", "lifo+deadline(200ms)"), pick("silent", "true", "false"),
			pick("door", "open", "queue_limit:20", "in_system:25", "{kind: priority, limit: 30, per_class: {other: 15}}", "infeasible"), pick("hard", "1000000", "50"),
			pick("workers", "1", "10"), pick("service", "100ms", "exp:30ms", "1.3s"),
			pick("arrivals", "even", "poisson"), pick("rate", "0.5", "60", "300"), pick("patience", "500ms", "1s", "1.234s"), pick("wait", "post", "close"),
			pick("backoff", "{kind: none}", "{kind: fixed, base: 150ms}", "{kind: exponential, base: 333ms}"),
			pick("gates", "[]", "[sre10]", "[{kind: token_bucket, capacity: 10, earn: 0.1}]", "[throttle]", "[breaker, grpc]"),
			pick("faults", "[]", "[{at: 2s, for: 3s, capacity_share: 0.3}]", "[{at: 2s, for: 1s, pause: true}]", "[{at: 2s, for: 2s, hang: true, class: critical}]", "[{at: 2500ms, for: 1s, service_time: 400ms}]"),
			pick("queued", "leave", "shed"), pick("in service", "leave", "finish"), pick("step", "10ms", "100ms", "300ms", "500ms"))
		p := load(t, text)
		r, err := Run(p)
		if err != nil {
			t.Fatal(err)
		}
		s := r.Summary
		a, q := s.Attempts, s.Requests
		switch {
		case !s.Conservation.OK || s.Conservation.ClientServerGap != 0:
			t.Fatalf("conservation %+v\n%s", s.Conservation, text)
		case a.Total != a.OnTime+a.Late+a.RefusedTotal+a.DroppedTotal+a.Canceled+a.Unfinished:
			t.Fatalf("attempts %+v", a)
		case q.Total != q.Succeeded+q.GaveUp+q.Throttled+q.Unfinished:
			t.Fatalf("requests %+v", q)
		case a.OnTime != s.GoodputClient:
			t.Fatalf("%d on time, but clients had %d answers", a.OnTime, s.GoodputClient)
		case p.End.Queued == scenario.Shed && p.End.InService == scenario.Finish && a.Unfinished != 0:
			t.Fatalf("%d are left", a.Unfinished)
		}
		again, _ := Run(p)
		if !reflect.DeepEqual(again.Summary, s) {
			t.Fatal("the second run differs")
		}
	})
}

func TestClassesAndPriority(t *testing.T) {
	r := run(t, strings.NewReplacer("discipline: fifo,", "door: {kind: priority, limit: 40, per_class: {other: 20}},",
		"rate: 80", "rate: 200", "model:", "classes: [{name: critical, criticality: critical, every: 5}, {name: other}]\nmodel:").Replace(base))
	c := r.Summary.Classes
	if c["critical"].Attempts.RefusedTotal != 0 || c["other"].Attempts.RefusedTotal == 0 {
		t.Errorf("refused: critical %d, other %d", c["critical"].Attempts.RefusedTotal, c["other"].Attempts.RefusedTotal)
	}
	if all := c["critical"].Requests.Total * 5; all != r.Summary.Requests.Total {
		t.Errorf("every fifth is critical: %d times five of %d", c["critical"].Requests.Total, r.Summary.Requests.Total)
	}
}

// TestSizeDoesNotMatter: a thousand times the load on a thousand times the workers
// comes out a thousand times as large, in as many moves.
func TestSizeDoesNotMatter(t *testing.T) {
	faults := strings.Replace(base, "model:", "faults: [{at: 5s, for: 4s, capacity_share: 0.4}]\nmodel:", 1)
	small := run(t, faults)
	large := run(t, strings.NewReplacer("workers: 10,", "workers: 10000,", "rate: 80", "rate: 80000").Replace(faults))
	a, b := small.Summary, large.Summary
	if b.Attempts.Total != 1000*a.Attempts.Total || b.Goodput != 1000*a.Goodput || b.Requests.GaveUp != 1000*a.Requests.GaveUp {
		t.Errorf("small: %+v\nlarge: %+v", a.Attempts, b.Attempts)
	}
	if large.Moves != small.Moves {
		t.Errorf("%d moves, %d for the large one", small.Moves, large.Moves)
	}
	if a.Recovery.Verdict != b.Recovery.Verdict {
		t.Errorf("%s and %s", a.Recovery.Verdict, b.Recovery.Verdict)
	}
}

// BenchmarkMillionASecond is a minute of a million requests a second on 80,000
// workers, with a capacity loss and retries.
func BenchmarkMillionASecond(b *testing.B) {
	p := load(b, `name: large
horizon: 60s
server: {queue_hard_limit: 100000000}
backend: {workers: 80000, service_time: 70ms}
clients:
  - {name: users, arrivals: even, rate: 1000000, patience: 1s, retry: {attempts: 4, backoff: {kind: exponential, base: 500ms}}}
faults: [{at: 20s, for: 2s, capacity_share: 0.5}]
model: {step: 10ms}
`)
	b.ReportAllocs()
	var requests int64
	for b.Loop() {
		r, err := Run(p)
		if err != nil {
			b.Fatal(err)
		}
		requests += r.Summary.Requests.Total
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds()/1e6, "Mrequests/s")
}
