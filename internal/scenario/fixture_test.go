package scenario

import (
	"fmt"
	"strings"
	"testing"
)

// small is a scenario to change one line of.
const small = `name: small
about: To be changed.
horizon: 90s
server: {discipline: fifo}
backend: {workers: 4, service_time: 50ms}
clients:
  - {name: users, arrivals: even, rate: 60, patience: 1s, retry: {attempts: 3, on: [timeout]}}
  - name: robots
    arrivals: poisson
    rate: 5
classes:
  - {name: critical, criticality: critical, every: 5}
  - {name: other}
phases:
  - {name: spike, at: 20s, for: 10s, rate: 400}
windows:
  - {name: start, from: 0s, to: 20s}
variants:
  fifo: {}
  deadline: {server: {discipline: deadline, drop_margin: 70ms}}
  busy: {clients: {robots: {rate: 50}}, phases: []}
expect:
  fifo: ["goodput_share < 0.25"]
  all: ["v.fifo.peak.queue > v.deadline.peak.queue"]
`

// opener serves texts as files.
func opener(files map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("no file %q", name)
	}
}

func load(text string) (*Scenario, error) {
	return Load("f.yaml", opener(map[string]string{"f.yaml": text}))
}

func mustLoad(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := load(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plansOf returns the plans of a scenario by variant.
func plansOf(t *testing.T, s *Scenario, sets ...string) map[string]Plan {
	t.Helper()
	plans, err := s.Plans([]string{"*"}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Plan{}
	for _, p := range plans {
		out[p.Variant] = p
	}
	return out
}

// change returns small with one text replaced, which must occur.
func change(t *testing.T, old, new string) string {
	t.Helper()
	if !strings.Contains(small, old) {
		t.Fatalf("%q is not in the small scenario", old)
	}
	return strings.Replace(small, old, new, 1)
}
