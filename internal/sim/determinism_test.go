package sim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"shedload/internal/scenario"
	"shedload/scenarios"
	"shedload/test/need"
)

// mixed is a scenario with all that draws random numbers, holds state or breaks
// ties: every kind of arrivals, jitter, gates, classes, faults, doors that wait.
const mixed = `name: mixed
horizon: 15s
server: {discipline: "adaptive-lifo+controlled-delay", door: "concurrency:12,wait=200ms"}
backend: {workers: 4, service_time: "lognormal:20ms,p99=90ms", degrade: "0.05,max=3"}
clients:
  - {name: poisson, arrivals: poisson, rate: 80, patience: 500ms, retry: {attempts: 5, backoff: {kind: exponential, base: 50ms, jitter: decorrelated, cap: 2s}}, gates: [throttle, sre10]}
  - {name: even, arrivals: even, rate: 40, patience: 300ms, retry: {attempts: 3, backoff: {kind: exponential, base: 100ms, jitter: full}, resume: true}}
  - {name: bursts, arrivals: onoff, rate: 200, on: 300ms, off: 2s, patience: 400ms, wait: close, retry: {attempts: 4}, gates: [breaker]}
  - {name: closed, users: 20, think_time: "exp:400ms", patience: 1s, processes: 2, retry: {attempts: 2}, gates: [envoy]}
classes:
  - {name: critical, criticality: critical, share: 0.2}
  - {name: slow, every: 7, service_time: 80ms}
  - {name: other, criticality: sheddable}
phases: [{name: spike, at: 4s, for: 2s, factor: 3}]
faults: [{at: 7s, for: 1s, capacity_share: 0.5}, {at: 9s, for: 300ms, pause: true}, {at: 10s, for: 500ms, hang: true, class: slow}]
variants:
  waiting: {}
  aimd: {server: {door: {kind: aimd, limit: 8}, discipline: edf+codel}}
  gradient2: {server: {door: {kind: gradient2, limit: 8}, discipline: lifo+evict(50)}}
  vegas: {server: {door: {kind: vegas, limit: 8}, discipline: "priority+deadline", drop_margin: auto}}
  leaving: {server: {door: {kind: queue_limit, limit: 100}, cancel_abandoned: true, discipline: fifo+expired}}
  losing: {server: {door: {kind: infeasible}, lease_timeout: 60ms}}
`

func inline(t testing.TB, text string, sets ...string) []scenario.Plan {
	t.Helper()
	s, err := scenario.Load("f.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plans([]string{"*"}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fingerprint is a hash of all that a run says about itself.
func fingerprint(t testing.TB, p scenario.Plan) string {
	t.Helper()
	r := run(t, p)
	text, err := json.Marshal([]any{r.Summary, r.Ledger.Rows(0), r.Events})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// TestSameBytes: a run says the same twice, alone or among others, on any number
// of cores, and with the race detector.
func TestSameBytes(t *testing.T) {
	all := append(inline(t, mixed), plans(t, "shed-your-load-short")...)
	all = append(all, plans(t, "metastable-overload", "as-published", "live-as-published")...)
	want := make([]string, len(all))
	for i, p := range all {
		want[i] = fingerprint(t, p)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(cores)
		var group sync.WaitGroup
		for i, p := range all {
			group.Go(func() {
				if got := fingerprint(t, p); got != want[i] {
					t.Errorf("%s/%s on %d cores differs", p.Scenario, p.Variant, cores)
				}
			})
		}
		group.Wait()
	}
}

// TestSameBytesEverywhere pins one run down: integers and explicit roundings make it
// the same on every architecture, so a change here is a change of the model.
func TestSameBytesEverywhere(t *testing.T) {
	h := sha256.New()
	for _, p := range inline(t, mixed) {
		fmt.Fprintln(h, p.Variant, fingerprint(t, p))
	}
	const want = "5677d226928bbacd045fb44646bf2687d58bdc94b77340803a56b13ef129b1b9"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("the fingerprint is %s, was %s: say why in the commit that changes it", got, want)
	}
}

// TestOrderOfVariantsChangesNothing: a variant comes out the same wherever it stands.
func TestOrderOfVariantsChangesNothing(t *testing.T) {
	head, tail, _ := strings.Cut(mixed, "variants:\n")
	lines := strings.Split(strings.TrimRight(tail, "\n"), "\n")
	want := map[string]string{}
	for _, p := range inline(t, mixed) {
		want[p.Variant] = fingerprint(t, p)
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	turned := inline(t, head+"variants:\n"+strings.Join(lines, "\n")+"\n")
	if len(turned) != len(want) || turned[0].Variant == "waiting" {
		t.Fatalf("%d variants, the first is %s", len(turned), turned[0].Variant)
	}
	for _, p := range turned {
		if got := fingerprint(t, p); got != want[p.Variant] {
			t.Errorf("%s differs when the variants stand in another order", p.Variant)
		}
	}
}

// TestSameArrivalsForEveryVariant: law 8. With one seed all variants of an open
// loop see the same new requests, second by second.
func TestSameArrivalsForEveryVariant(t *testing.T) {
	for _, name := range scenarios.List() {
		if name != "retry-storms" && (name != "shed-your-load" || need.Race()) {
			continue
		}
		p := runAll(t, name)
		first := p.results[p.plans[0].Variant].Ledger.Rows(0)
		for variant, r := range p.results {
			for i, row := range r.Ledger.Rows(0) {
				if row.Requests != first[i].Requests {
					t.Errorf("%s/%s: %d requests in second %d, %d in %s", name, variant, row.Requests, i, first[i].Requests, p.plans[0].Variant)
					break
				}
			}
		}
	}
}
