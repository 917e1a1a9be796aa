package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"shedload/internal/ledger"
)

// ledgerOf follows every unit and every request by its events.
type ledgerOf struct {
	place  map[uint64]ledger.Kind // of each unit, its last event
	wished map[uint64]bool
	ended  map[uint64]bool
	at     int64
	fault  string
}

func (l *ledgerOf) see(e ledger.Event) {
	after := map[ledger.Kind][]ledger.Kind{
		ledger.Arrived: {0}, ledger.Queued: {ledger.Arrived}, ledger.Refused: {ledger.Arrived},
		ledger.Dropped: {ledger.Queued, ledger.Arrived}, ledger.Canceled: {ledger.Queued, ledger.Arrived},
		ledger.Started: {ledger.Queued}, ledger.Finished: {ledger.Started}, ledger.Broke: {ledger.Started}, ledger.Lost: {ledger.Started},
		ledger.Stale: {ledger.Lost},
	}
	complain := func(format string, args ...any) {
		if l.fault == "" {
			l.fault = fmt.Sprintf("at %v: ", e.At) + fmt.Sprintf(format, args...)
		}
	}
	if int64(e.At) < l.at && e.Kind != ledger.Wished {
		complain("kind %d goes back in time", e.Kind)
	}
	l.at = max(l.at, int64(e.At))
	switch {
	case e.Kind < ledger.Wished && e.Kind != ledger.Sampled:
		ok := false
		for _, kind := range after[e.Kind] {
			ok = ok || l.place[e.Unit.ID] == kind
		}
		if !ok {
			complain("unit %x: kind %d after kind %d", e.Unit.ID, e.Kind, l.place[e.Unit.ID])
		}
		l.place[e.Unit.ID] = e.Kind
	case e.Kind == ledger.Wished:
		if l.wished[e.Unit.Request] {
			complain("request %x is wished for twice", e.Unit.Request)
		}
		l.wished[e.Unit.Request] = true
	case e.Kind == ledger.Answered:
		if e.At > e.Unit.Deadline {
			complain("an answer after patience counts")
		}
	case e.Kind == ledger.Ended:
		if l.ended[e.Unit.Request] || !l.wished[e.Unit.Request] {
			complain("request %x ends twice, or was never wished for", e.Unit.Request)
		}
		l.ended[e.Unit.Request] = true
	}
}

// TestEverythingEndsOnce: whatever is switched on, each unit goes a way that there
// is, each request ends exactly once, and the sums of the summary are those of the events.
func TestEverythingEndsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, what) }
		text := fmt.Sprintf(`name: random
seed: %d
horizon: 6s
server: {discipline: %s, silent_drops: %s, cancel_abandoned: %s, door: %s, queue_hard_limit: %s, lease_timeout: %s, retry_after: %s}
backend: {workers: %s, service_time: "%s", degrade: "%s"}
clients:
  - {name: users, arrivals: %s, rate: %s, patience: %s, wait: %s, retry: {attempts: 4, backoff: %s, resume: %s}, gates: %s}
  - {name: closed, users: 7, think_time: "exp:100ms", patience: 300ms, request_deadline: 1s, processes: %s, retry: {attempts: 9}}
classes: [{name: critical, criticality: critical, every: 5, compartment: a}, {name: other, compartment: b}]
faults: %s
end: {queued: %s, in_service: %s}
`,
			rapid.IntRange(1, 1000).Draw(rt, "seed"),
			pick("discipline", "fifo", "lifo", "edf+expired", "priority+codel", "adaptive-lifo", "adaptive-lifo+controlled-delay", "lifo+deadline(200ms)+evict(9)"), pick("silent", "true", "false"), pick("cancel", "true", "false"),
			pick("door", "open", "queue_limit:20", "in_system:9", `"concurrency:6,wait=150ms"`, `"bulkheads:3,wait=400ms"`, "{kind: priority, limit: 30, per_class: {other: 15}}", "infeasible", "aimd:8", "vegas:8", "gradient2:8"),
			pick("hard", "1000000", "11"), pick("lease", "10s", "80ms"), pick("retry after", "0s", "1s"),
			pick("workers", "1", "4"), pick("service", "20ms", "exp:60ms", "lognormal:30ms,p99=400ms"), pick("degrade", "none", "0.2,max=4"),
			pick("arrivals", "even", "poisson"), pick("rate", "5", "60", "200"), pick("patience", "100ms", "500ms"), pick("wait", "post", "close"),
			pick("backoff", "{kind: none}", "{kind: fixed, base: 150ms}", "{kind: exponential, base: 50ms, jitter: full}"), pick("resume", "true", "false"),
			pick("gates", "[]", "[sre10]", "[throttle]", "[breaker, grpc]", "[aws]"), pick("processes", "1", "3"),
			pick("faults", "[]", "[{at: 2s, for: 1s, capacity_share: 0.3}]", "[{at: 2s, for: 500ms, pause: true}]", "[{at: 2s, for: 1s, hang: true, class: critical}]", "[{at: 1s, for: 2s, factor: 5}]"),
			pick("queued", "leave", "shed"), pick("in service", "leave", "finish"))
		p := inline(t, text)[0]
		l := ledgerOf{place: map[uint64]ledger.Kind{}, wished: map[uint64]bool{}, ended: map[uint64]bool{}}
		r, err := Watch(p, l.see)
		if err != nil {
			rt.Fatal(err)
		}
		s := r.Summary
		a, q := s.Attempts, s.Requests
		switch {
		case l.fault != "":
			rt.Fatalf("%s\n%s", l.fault, text)
		case len(l.wished) != len(l.ended):
			rt.Fatalf("%d requests, %d ended", len(l.wished), len(l.ended))
		case !s.Conservation.OK || s.Conservation.ClientServerGap != 0:
			rt.Fatalf("conservation %+v\n%s", s.Conservation, text)
		case a.Total != int64(len(l.place)) || a.Total != a.OnTime+a.Late+a.RefusedTotal+a.DroppedTotal+a.Failed+a.Canceled+a.Lost+a.Unfinished:
			rt.Fatalf("%d units, attempts %+v", len(l.place), a)
		case q.Total != int64(len(l.wished)) || q.Total != q.Succeeded+q.GaveUp+q.Throttled+q.Unfinished:
			rt.Fatalf("%d wishes, requests %+v", len(l.wished), q)
		case s.GoodputClient > s.Goodput && s.Resumes == 0:
			rt.Fatalf("clients had %d answers, %d were on time", s.GoodputClient, s.Goodput)
		}
	})
}
