package control_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"shedload/internal/control"
	"shedload/internal/scenario"
)

// load returns the only plan of a scenario.
func load(t *testing.T, text string) scenario.Plan {
	t.Helper()
	s, err := scenario.Load("test.yaml", func(string) ([]byte, error) { return []byte(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans(nil)
	if err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

// small is a service at half its capacity for two seconds.
func small(t *testing.T) scenario.Plan {
	return load(t, `
name: small
about: A healthy service.
horizon: 2s
backend: {workers: 4, service_time: 20ms}
clients: [{name: users, arrivals: even, rate: 50, patience: 500ms, retry: {attempts: 3, on: [timeout]}}]
phases: [{name: bump, at: 1s, for: 500ms, rate: 100}]
`)
}

// run plays p on children and repeats it, twice at most, when the machine was too
// busy to deliver the load.
func run(t *testing.T, o control.Options) *control.Result {
	t.Helper()
	o.Spawn.Path = os.Args[0]
	for range 3 {
		r, err := control.Run(within(t), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Incident != nil {
			t.Fatal(r.Incident)
		}
		if r.Summary.Generator.Delivered {
			return r
		}
	}
	t.Fatal("the load was not delivered in three runs")
	return nil
}

// TestHealthyRun plays a plan on real processes: all requests succeed, the sums
// add up and both views agree.
func TestHealthyRun(t *testing.T) {
	var seen []control.Progress
	r := run(t, control.Options{Plan: small(t), Progress: func(p control.Progress) { seen = append(seen, p) }})
	s := r.Summary
	if s.Requests.Total != 125 || s.Requests.Succeeded+s.Requests.Unfinished != 125 || s.Requests.Unfinished > 5 {
		t.Errorf("got %+v, want the 125 requests of the plan, all but the last few answered", s.Requests)
	}
	if s.Attempts.Total < 120 || s.Engine != "live" || s.Partial || s.View != "both" {
		t.Errorf("got %+v, want a whole live run with both views", s)
	}
	if !s.Conservation.OK {
		t.Errorf("got %+v, want conservation", s.Conservation)
	}
	if len(seen) == 0 || seen[0].At != time.Second || seen[0].Left != time.Second || seen[0].Row.Requests != 50 {
		t.Errorf("got progress %+v, want 50 requests in the first second", seen)
	}
	for _, program := range []string{"loadgen", "apiserver", "backend"} {
		if u := r.Usage[program]; u.Measured && u.CPU <= 0 {
			t.Errorf("%s: got %+v, want some processor time", program, u)
		}
	}
}

// TestKilledBackend kills the backend in mid-run and starts another: what it had is
// lost, and counted so; nothing else is.
func TestKilledBackend(t *testing.T) {
	p := load(t, `
name: killed
about: The backend dies.
horizon: 4s
server: {lease_timeout: 500ms}
backend: {workers: 4, service_time: 50ms}
clients: [{name: users, arrivals: even, rate: 60, patience: 1s, retry: {attempts: 5, on: [timeout, error]}}]
`)
	var children *control.Children
	o := control.Options{Plan: p, Started: func(c *control.Children) { children = c }}
	o.Progress = func(progress control.Progress) {
		if progress.At != time.Second {
			return
		}
		if err := children.Backend().Kill(); err != nil {
			t.Error(err)
		}
		<-children.Backend().Done()
		if err := children.StartBackend(context.Background()); err != nil {
			t.Error(err)
		}
	}
	s := run(t, o).Summary
	if s.Attempts.Lost < 1 || s.Attempts.Lost > 4 {
		t.Errorf("got %d lost, want what up to 4 workers had", s.Attempts.Lost)
	}
	if !s.Conservation.OK || s.Partial {
		t.Errorf("got %+v, want conservation in spite of the kill", s.Conservation)
	}
	if s.Requests.Succeeded < s.Requests.Total*9/10 {
		t.Errorf("got %+v, want nearly all to succeed in the end", s.Requests)
	}
}

// TestInterruptKeepsWhatWasMeasured ends a run after its first second.
func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(within(t))
	p := small(t)
	p.Horizon = time.Hour
	var children *control.Children
	r, err := control.Run(ctx, control.Options{
		Plan: p, Spawn: control.Spawner{Path: os.Args[0]}, Started: func(c *control.Children) { children = c },
		Progress: func(control.Progress) { cancel(interrupted) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(r.Incident, interrupted) || !r.Summary.Partial {
		t.Errorf("got incident %v, partial %v; want the interrupt", r.Incident, r.Summary.Partial)
	}
	if r.Summary.Requests.Total < 50 || len(r.Rows) == 0 {
		t.Errorf("got %+v, want at least the first second's 50 requests", r.Summary.Requests)
	}
	if !r.Summary.Conservation.OK {
		t.Errorf("got %+v, want conservation", r.Summary.Conservation)
	}
	for _, c := range []*control.Child{children.API(), children.Backend()} {
		<-c.Done() // stopped, not orphaned
	}
}

// TestDeathOfTheServerEndsTheRun kills the apiserver from outside, as the system might.
func TestDeathOfTheServerEndsTheRun(t *testing.T) {
	p := small(t)
	p.Horizon = time.Hour
	var children *control.Children
	r, err := control.Run(within(t), control.Options{
		Plan: p, Spawn: control.Spawner{Path: os.Args[0]}, Started: func(c *control.Children) { children = c },
		Progress: func(control.Progress) {
			process, err := os.FindProcess(children.API().PID())
			if err == nil {
				err = process.Kill()
			}
			if err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Incident == nil || !contains(r.Incident.Error(), "apiserver (pid ", "died") || !r.Summary.Partial {
		t.Errorf("got %v, want the death of the apiserver", r.Incident)
	}
}

// TestRunningTarget plays two plans on one running system: each with its own
// policy, and afterwards the policy is what it was.
func TestRunningTarget(t *testing.T) {
	children, err := control.StartChildren(within(t), control.Spawner{Path: os.Args[0]}, small(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = children.Stop(context.Background()) })
	target := children.Target()
	p := small(t)
	if err := p.Server.Discipline.UnmarshalText([]byte("lifo")); err != nil {
		t.Fatal(err)
	}
	var during any
	remote := control.NewRemote(target)
	for range 2 {
		s := run(t, control.Options{Plan: p, Target: &target, Progress: func(control.Progress) {
			policy, err := remote.Policy(context.Background())
			if err != nil {
				t.Error(err)
			}
			during = policy["discipline"]
		}}).Summary
		if s.Requests.Total != 125 || !s.Conservation.OK {
			t.Errorf("got %+v %+v, want the 125 requests of this run alone", s.Requests, s.Conservation)
		}
	}
	after, err := remote.Policy(within(t))
	if err != nil || during != "lifo" || after["discipline"] != "fifo" {
		t.Errorf("got %v during and %v after the runs (%v), want lifo and fifo", during, after["discipline"], err)
	}
}

func TestUnreachableTarget(t *testing.T) {
	target := control.Target{Public: "http://127.0.0.1:1", APIAdmin: "http://127.0.0.1:1"}
	_, err := control.Run(within(t), control.Options{Plan: small(t), Target: &target})
	if !errors.Is(err, control.ErrUnreachable) || !contains(err.Error(), "apiserver at http://127.0.0.1:1", "connection refused") {
		t.Errorf("got %v, want to hear who cannot be reached", err)
	}
}

func TestTooFewFiles(t *testing.T) {
	p := small(t)
	p.Clients[0].Users, p.Clients[0].Arrivals.Rate = 2_000_000_000, 0
	if _, err := control.Run(within(t), control.Options{Plan: p}); err == nil || !contains(err.Error(), "file limit: needs 2000000064, have ") {
		t.Errorf("got %v, want what is needed and what there is", err)
	}
}
