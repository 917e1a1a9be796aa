package bubble_test

import (
	"fmt"
	"time"

	"shedload/internal/api"
	"shedload/internal/client"
	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// play lets the plan's clients play to the horizon, as control.Run does, and
// returns what came of it. Each event of the schedule is a thing that the test
// does at its second.
func (s *system) play(events map[int]func()) (ledger.Summary, ledger.Rows) {
	s.t.Helper()
	s.begin()
	over := make(chan error, 1)
	go func() { over <- s.generator.Run(s.t.Context(), s.start) }()
	for second := 1; ; second++ {
		tick := time.NewTimer(time.Until(s.start.Add(time.Duration(second)*time.Second + 50*time.Millisecond)))
		select {
		case <-tick.C:
			s.poll()
			if f := events[second]; f != nil {
				f()
			}
		case err := <-over:
			tick.Stop()
			if err != nil {
				s.t.Fatal(err)
			}
			s.poll()
			return s.summary(), s.ledger.Rows(0)
		}
	}
}

const lead = 300 * time.Millisecond

// begin starts a ledger on both sides, and a generator with connections.
func (s *system) begin() {
	s.t.Helper()
	s.ledger = ledger.New(s.plan.Ledger())
	var err error
	s.generator, err = client.New(client.Config{
		Target: publicURL, Groups: groups(s.plan), Phases: s.plan.Phases, Classes: s.plan.WorkClasses(), Seed: s.plan.Seed,
		Horizon: s.plan.Horizon, MaxConns: 10_000, Record: s.ledger.Record, Dial: s.net.Dial, VirtualTime: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.generator.Prepare(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.start = time.Now().Add(lead)
	s.call("POST", "/v1/ledger", api.RunRequest{StartsInMS: api.Milliseconds(lead), HorizonMS: api.Milliseconds(s.plan.Horizon)}, nil)
}

func groups(p scenario.Plan) []client.Group {
	var out []client.Group
	for i, c := range p.Clients {
		out = append(out, client.Group{
			Population: p.Population(i), Arrivals: c.Arrivals, Wait: c.Wait, Protocol: c.Protocol, Processes: c.Processes,
		})
	}
	return out
}

// poll takes over the server's view. At every moment every attempt is in exactly
// one place: what the ledger has not ended is what the server holds.
func (s *system) poll() {
	s.t.Helper()
	var v control.LedgerView
	s.call("GET", fmt.Sprintf("/v1/ledger?from=%d", max(0, s.merged-2)), nil, &v)
	var pending int64
	for i := range v.Totals {
		pending += v.Totals[i].Pending()
	}
	if v.Now() < s.plan.Horizon && pending != *v.Held {
		s.t.Errorf("at %v: %d attempts are pending by the ledger, the server holds %d", v.Now(), pending, *v.Held)
	}
	v.Held = nil // after the horizon the server goes on, and its ledger does not
	var err error
	s.generator.Do(func(work.Instant) { err = s.ledger.Merge(v.Snapshot) })
	if err != nil {
		s.t.Fatal(err)
	}
	s.merged = v.From + len(v.Rows)
}

func (s *system) summary() ledger.Summary {
	stats := s.generator.Stats()
	m := s.plan.Meta("live")
	m.InFlight, m.ClientErrors = int64(stats.InFlight), stats.ClientErrors
	return s.ledger.Summary(m)
}
