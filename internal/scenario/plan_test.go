package scenario

import (
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

// All times of a plan are multiplied and all rates divided, those inside policies too.
func TestTimeScale(t *testing.T) {
	text := change(t, "server: {discipline: fifo}", `time_scale: 2
warmup: 5s
recovery: {window: 3s, reference: 60}
server: {discipline: fifo, door: {kind: concurrency, limit: 4, wait: 10ms}, retry_after: 1s}
faults: [{at: 1s, for: 2s, service_time: 100ms}]`)
	text = text[:len(text)-1] + "\n"
	s := mustLoad(t, text)
	plans := plansOf(t, s, "clients.users.retry.backoff={kind: fixed, base: 100ms}", "clients.users.gates=[breaker]")
	p := plans["deadline"]
	for _, c := range []struct {
		what     string
		got, is2 any
	}{
		{"horizon", p.Horizon, 180 * time.Second},
		{"warmup", p.Warmup, 10 * time.Second},
		{"margin", p.Server.DropMargin.D, 140 * time.Millisecond},
		{"codel target", p.Server.CodelTarget, 10 * time.Millisecond},
		{"door wait", p.Server.Door.Wait, 20 * time.Millisecond},
		{"door limit", p.Server.Door.Limit, 4},
		{"retry after", p.Server.RetryAfter, 2 * time.Second},
		{"service time", p.Backend.ServiceTime.A, 100 * time.Millisecond},
		{"workers", p.Backend.Workers, 4},
		{"rate", p.Clients[0].Arrivals.Rate, 30.0},
		{"until", p.Clients[0].Arrivals.Until, 180 * time.Second},
		{"patience", p.Clients[0].Patience, 2 * time.Second},
		{"backoff", p.Clients[0].Retry.Backoff.Base, 200 * time.Millisecond},
		{"breaker's window", *p.Clients[0].Gates[0].Window, 20 * time.Second},
		{"phase rate", p.Phases[0].Rate, 200.0},
		{"phase start", p.Phases[0].At, 40 * time.Second},
		{"fault", p.Faults[0].For, 4 * time.Second},
		{"fault's service time", p.Faults[0].ServiceTime.A, 200 * time.Millisecond},
		{"window", p.Windows[0].To, 40 * time.Second},
		{"verdict's window", p.Recovery.Window, 6 * time.Second},
		{"verdict's reference", p.Recovery.Reference, 30.0},
		{"verdict's patience", p.Recovery.Patience, 2 * time.Second},
		{"trigger", p.Recovery.Trigger, ledger.Span{From: 2 * time.Second, To: 60 * time.Second}},
	} {
		if c.got != c.is2 {
			t.Errorf("%s is %v, want %v", c.what, c.got, c.is2)
		}
	}
	if q := plansOf(t, s, "time_scale=1")["deadline"]; q.Server.DropMargin.D != 70*time.Millisecond {
		t.Error("scaling one plan changed another")
	}
}

func TestDefaultMarginIsSaid(t *testing.T) {
	s := mustLoad(t, change(t, ", drop_margin: 70ms", ""))
	if m := plansOf(t, s)["deadline"].Server.DropMargin; m == nil || m.D != 70*time.Millisecond {
		t.Errorf("got %v", m)
	}
	if m := plansOf(t, s)["deadline"].Station().Queue.Margin; m == nil {
		t.Error("the station is not told")
	}
}

// Every n-th request, a client's requests, shares, and the rest.
func TestClassOf(t *testing.T) {
	s := mustLoad(t, change(t, `  - {name: critical, criticality: critical, every: 5}`, `  - {name: robots, client: robots}
  - {name: critical, criticality: critical, every: 5}
  - {name: some, share: 0.25}`))
	p := plansOf(t, s)["fifo"]
	count := [4]int{}
	for n := range uint64(10_000) {
		c := p.ClassOf(0, n)
		count[c]++
		if (c == 1) != (n%5 == 0) {
			t.Fatalf("request %d is of class %d", n, c)
		}
		if p.ClassOf(1, n) != 0 {
			t.Fatalf("request %d of robots is of class %d", n, p.ClassOf(1, n))
		}
		if p.ClassOf(0, n) != c {
			t.Fatal("a class is drawn anew")
		}
	}
	if count[0] != 0 || count[1] != 2000 || count[2] < 1800 || count[2] > 2200 {
		t.Errorf("classes of 10000 requests: %v", count)
	}
}

func TestWindowsEvery(t *testing.T) {
	s := mustLoad(t, change(t, "to: 20s}", "to: 1s, every: 300ms, completed: true}"))
	w := plansOf(t, s)["fifo"].Windows
	last := ledger.WindowSpec{Name: "start-900ms", From: 900 * time.Millisecond, To: time.Second, Completed: true}
	if len(w) != 4 || w[0].Name != "start-0s" || w[3] != last {
		t.Errorf("got %+v", w)
	}
}

func TestTraces(t *testing.T) {
	const text = "name: x\nhorizon: 1s\nclients: [{name: a, arrivals: trace, trace: a.trace}]\n"
	s, err := Load("dir/x.yaml", opener(map[string]string{"dir/x.yaml": text, "dir/a.trace": "# ns\n0\n\n5\n5\n"}))
	if err != nil {
		t.Fatal(err)
	}
	got := plansOf(t, s)[Base].Clients[0].Arrivals.Trace
	if len(got) != 3 || got[2] != work.Instant(5) {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"1.5", "-1", "x", "7\n5", "99999999999999999999", "1 2"} {
		if _, err := parseTrace([]byte(bad)); err == nil {
			t.Errorf("trace %q was accepted", bad)
		}
	}
}

// Until is the horizon unless it is earlier: a schedule ends with the run.
func TestScheduleEnds(t *testing.T) {
	s := mustLoad(t, small)
	for _, set := range []string{"horizon=30s", "clients.users.until=300s", "clients.users.until=30s"} {
		p := plansOf(t, s, set)["fifo"]
		q, err := p.Schedule(0)
		if err != nil {
			t.Fatal(err)
		}
		last := work.Instant(0)
		for at, ok := q.Next(); ok; at, ok = q.Next() {
			last = at
		}
		if end := work.Instant(p.Clients[0].Arrivals.Until); last >= end || last < end-work.Instant(time.Second) {
			t.Errorf("%s: the last arrival is at %s", set, last)
		}
	}
}
