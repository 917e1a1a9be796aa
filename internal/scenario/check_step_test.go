package scenario

import (
	"strings"
	"testing"
)

// A model in steps refuses what it cannot do, at its place.
func TestStepRefusesWhatItCannotDo(t *testing.T) {
	const base = "horizon: 90s"
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""}, // a step alone is fine
		{"patience: 1s", "patience: 50ms", "f.yaml:8:55: clients[0].patience: is 50ms: with a model.step of 100ms allowed is that and more"},
		{"arrivals: even, rate: 60, patience: 1s", "users: 5, think_time: 1s", "f.yaml:8:26: clients[0].users: make a closed loop: with model.step allowed is arrivals"},
		{"on: [timeout]", "resume: true", "f.yaml:8:88: clients[0].retry.resume: is true: with model.step allowed is false"},
		{"on: [timeout]", "backoff: {kind: fixed, base: 1s, jitter: full}", "f.yaml:8:121: clients[0].retry.backoff.jitter: is full: with model.step allowed is none"},
		{"patience: 1s", "processes: 2, gates: [grpc]", "f.yaml:8:56: clients[0].processes: is 2: with model.step and gates allowed is 1"},
		{"discipline: fifo", "discipline: fifo+codel", "f.yaml:5:22: server.discipline: has codel: with model.step allowed are fifo, lifo, edf and priority, with expired and deadline"},
		{"discipline: fifo", "discipline: adaptive-lifo+none", "f.yaml:5:22: server.discipline: has adaptive-lifo"},
		{"discipline: fifo", "discipline: deadline, drop_margin: auto", "f.yaml:5:45: server.drop_margin: is auto: with model.step allowed is a time"},
		{"discipline: fifo", "door: {kind: concurrency, limit: 4}", "f.yaml:5:16: server.door: is concurrency: with model.step allowed are open,"},
	} {
		text := strings.Replace(small, base, base+"\nmodel: {step: 100ms}", 1)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%q is not in the small scenario", c.old)
		}
		_, err := load(strings.Replace(text, c.old, c.new, 1))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.new, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: got\n%v\nwant\n%s", c.new, err, c.want)
		}
	}
}
