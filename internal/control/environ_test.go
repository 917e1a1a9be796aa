package control

import (
	"reflect"
	"strings"
	"testing"

	"shedload/internal/boot"
	"shedload/internal/queue"
	"shedload/internal/scenario"
	"shedload/internal/station"
)

// file opens a scenario from text.
func file(text string) func(string) ([]byte, error) {
	return func(string) ([]byte, error) { return []byte(text), nil }
}

func plan(t *testing.T, text string) scenario.Plan {
	t.Helper()
	s, err := scenario.Load("test.yaml", file(text))
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans(nil)
	if err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

const everything = `
name: everything
about: Every knob of server and backend is turned.
horizon: 10s
server:
  discipline: priority+deadline
  drop_margin: 55ms
  silent_drops: true
  codel_target: 7ms
  codel_interval: 70ms
  door: {kind: priority, limit: 40, per_class: {search: 20}}
  queue_hard_limit: 5000
  cancel_abandoned: true
  lease_timeout: 3s
  retry_after: 2s
  do_not_retry: true
backend: {workers: 7, service_time: "uniform:50ms,50.5ms", work: cpu, degrade: "0.05,max=4"}
clients: [{name: users, arrivals: even, rate: 10, patience: 2s}]
classes:
  - {name: pay, criticality: critical_plus, compartment: money, share: 0.2}
  - {name: search, criticality: sheddable, service_time: "lognormal:20ms,p99=90ms", share: 0.8}
`

// TestChildrenAreWhatThePlanSays loads the environments that children get, and
// requires the same server and workers as the plan's.
func TestChildrenAreWhatThePlanSays(t *testing.T) {
	t.Setenv("SHEDLOAD_QUEUE_DISCIPLINE", "lifo") // what is set around us must not leak in
	p := plan(t, everything)
	a, err := boot.Load[boot.APIServer]("apiserver", apiserverEnviron(p, "warn"))
	if err != nil {
		t.Fatal(err)
	}
	got := station.Config{
		Queue: queue.Config{
			Discipline: a.QueueDiscipline, Margin: a.DropMargin, CodelTarget: a.CodelTarget,
			CodelInterval: a.CodelInterval, Workers: 7, Classes: a.Classes,
		},
		Door: a.Door, Classes: a.Classes, HardLimit: a.HardLimit, LeaseTimeout: a.LeaseTimeout,
		RetryAfter: a.RetryAfter, DoNotRetry: a.DoNotRetry, Workers: 7,
	}
	if want := p.Station(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !a.SilentDrops || !a.CancelAbandoned || a.Patience != p.Recovery.Patience {
		t.Errorf("got %+v, want silent drops, cancels and the plan's patience", a)
	}
	b, err := boot.Load[boot.Backend]("backend", backendEnviron(p, "http://127.0.0.1:1", "warn"))
	if err != nil {
		t.Fatal(err)
	}
	model := p.Service()
	if b.Workers != 7 || b.ServiceTime != model.ServiceTime || b.Degrade != model.Degrade || b.Seed != model.Seed || b.Work != boot.CPU {
		t.Errorf("got %+v, want the plan's backend %+v", b, p.Backend)
	}
	if len(b.ClassTimes) != 1 || b.ClassTimes[0] != (boot.ClassTime{Class: "search", Time: model.PerClass[1]}) {
		t.Errorf("got %v, want the service time of search", b.ClassTimes)
	}
}

func TestPlainPlansNeedLittle(t *testing.T) {
	p := plan(t, `
name: plain
about: Nothing is said.
horizon: 10s
clients: [{name: users, arrivals: even, rate: 10}]
`)
	for _, environ := range [][]string{apiserverEnviron(p, "warn"), backendEnviron(p, "http://127.0.0.1:1", "warn")} {
		for _, v := range environ {
			if strings.HasPrefix(v, "SHEDLOAD_DROP_MARGIN") {
				t.Errorf("%s: a fifo queue has no margin", v)
			}
		}
	}
	if _, err := boot.Load[boot.APIServer]("apiserver", apiserverEnviron(p, "warn")); err != nil {
		t.Error(err)
	}
	if _, err := boot.Load[boot.Backend]("backend", backendEnviron(p, "http://127.0.0.1:1", "warn")); err != nil {
		t.Error(err)
	}
}

// TestNeedsOfTheCollapse: with 50 attempts of a second each, all 3,000 baseline
// requests of 50 s and the 3,400 more of the spike are open together at worst.
func TestNeedsOfTheCollapse(t *testing.T) {
	p := plan(t, `
name: collapse
about: A spike.
horizon: 90s
clients: [{name: users, arrivals: even, rate: 60, retry: {attempts: 50, on: [timeout]}}]
phases: [{name: spike, at: 20s, for: 10s, rate: 400}]
`)
	n, err := NeedsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	if n.Conns < 6300 || n.Conns > 6500 {
		t.Errorf("got %d connections, want 6400 or so", n.Conns)
	}
	if n.APIMemory < 150<<20 || n.APIMemory > 400<<20 {
		t.Errorf("got %d MiB for the apiserver, want what was measured, 150 to 400", n.APIMemory>>20)
	}
}
