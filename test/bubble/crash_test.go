package bubble_test

import (
	"context"
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

// TestABackendVanishes: its machine goes in the middle of the spike, with all its
// workers busy. What they had is lost, once; another backend takes over, and every
// attempt is still in exactly one place.
func TestABackendVanishes(t *testing.T) {
	p := load(t, "deadline", "clients.users.rate=40", "phases.spike.rate=120", "server.lease_timeout=1s", "horizon=14s")
	inBubble(t, p, func(s *system) {
		summary, rows := s.play(map[int]func(){
			5: func() { s.backends[0].host.Cut() },
			8: func() { s.addBackend() },
		})
		conserved(t, summary)
		if lost := summary.Attempts.Lost; lost != int64(p.Backend.Workers) {
			t.Errorf("%d units were lost, want one of each of %d workers", lost, p.Backend.Workers)
		}
		if failed := s.ledger.Totals().Answered[work.Failed]; failed > summary.Attempts.Lost {
			t.Errorf("%d clients were told of a loss, of %d", failed, summary.Attempts.Lost)
		}
		if dead := sum(rows[6:8]); dead.Throughput != 0 {
			t.Errorf("%d units finished without a backend", dead.Throughput)
		}
		// The new one may take a moment's rows to come in; then it is as before.
		if back := sum(rows[9:]); back.Goodput < 70*int64(len(rows[9:])) || back.Goodput != back.Throughput {
			t.Errorf("with the new backend: throughput %d, goodput %d in %d s", back.Throughput, back.Goodput, len(rows[9:]))
		}
	})
}

// TestABackendIsReplaced: one that is told to stop finishes and reports what it has,
// and nothing is lost.
func TestABackendIsReplaced(t *testing.T) {
	p := load(t, "deadline", "clients.users.rate=40", "phases.spike.rate=120", "horizon=12s")
	inBubble(t, p, func(s *system) {
		summary, rows := s.play(map[int]func(){5: func() {
			s.backends[0].stop()
			s.addBackend()
		}})
		conserved(t, summary)
		if a := summary.Attempts; a.Lost != 0 || a.Failed != 0 {
			t.Errorf("%d units were lost and %d failed", a.Lost, a.Failed)
		}
		if change := rows[5]; change.Throughput < 75 || change.Goodput != change.Throughput {
			t.Errorf("in the second of the change: throughput %d, goodput %d", change.Throughput, change.Goodput)
		}
	})
}

// TestShutdownAccountsForEverything: the apiserver is told to stop in the middle
// of the spike. What is queued is dropped and told so, what is worked on is
// finished, who still comes is refused, and nothing is left pending.
func TestShutdownAccountsForEverything(t *testing.T) {
	const second = 5
	p := load(t, "fifo", "clients.users.rate=40", "phases.spike.rate=120", "clients.users.retry.on=[timeout, refusal, error]",
		"clients.users.retry.attempts=3", "clients.users.retry.backoff={kind: fixed, base: 100ms}", "horizon=8s")
	inBubble(t, p, func(s *system) {
		s.begin()
		over := make(chan error, 1)
		go func() { over <- s.generator.Run(s.t.Context(), s.start) }()
		time.Sleep(time.Until(s.start.Add(second * time.Second)))
		before := s.server.LedgerView(0)
		s.shutdown()
		if err := <-over; err != nil {
			t.Fatal(err)
		}

		after := s.server.LedgerView(0)
		server, client := after.Totals[0], s.ledger.Totals().ClientTotals
		if server.Pending() != 0 || *after.Held != 0 {
			t.Errorf("%d attempts are pending, the server holds %d", server.Pending(), *after.Held)
		}
		if before.Queued < 50 || server.Dropped[work.Closed] != before.Queued {
			t.Errorf("%d units were dropped as closed, of %d that were queued", server.Dropped[work.Closed], before.Queued)
		}
		if finished := server.Finished() - before.Totals[0].Finished(); finished != before.InService || before.InService != int64(p.Backend.Workers) {
			t.Errorf("%d units were finished, of %d that were in service", finished, before.InService)
		}
		if server.Refused[work.ShuttingDown] == 0 {
			t.Error("nobody was refused while the last work was finished")
		}
		if arrived := client.Sent - client.Answered[work.ClientError]; arrived != server.Arrived {
			t.Errorf("%d attempts reached the server, which counts %d", arrived, server.Arrived)
		}
		if ended := total(client); ended != client.Sent || client.Missed == 0 {
			t.Errorf("%d attempts ended of %d that were sent; %d found nobody any more", ended, client.Sent, client.Missed)
		}
	})
}

// shutdown ends the apiserver in the order of the program: the station, its ticks,
// the listeners.
func (s *system) shutdown() {
	s.t.Helper()
	s.server.Shutdown(s.t.Context())
	s.stopTicks()
	for _, server := range s.http {
		ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
		if err := server.Shutdown(ctx); err != nil {
			s.t.Errorf("listener: %v", err)
		}
		cancel()
	}
	s.serving.Wait()
	if _, err := s.net.Dial(s.t.Context(), "tcp", "public:80"); err == nil {
		s.t.Error("the apiserver still listens")
	}
}

func total(c ledger.ClientTotals) int64 {
	var n int64
	for _, answers := range c.Answered {
		n += answers
	}
	return n
}
