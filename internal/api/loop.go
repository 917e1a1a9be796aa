package api

import (
	"context"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

// Run does what is due by time alone, until ctx ends: leases and waits at the
// door that run out, samples, retention. It must run while the server serves.
func (s *Server) Run(ctx context.Context) error {
	timer := stoppedTimer()
	defer timer.Stop()
	for {
		timer.Reset(s.tick())
		select {
		case <-timer.C:
		case <-s.kick:
		case <-ctx.Done():
			return nil
		}
	}
}

// tick brings the server up to now and returns the time to the next tick.
func (s *Server) tick() time.Duration {
	now := s.lock(s.clock())
	s.dispatchLocked() // before the next tick is computed: it may give leases
	s.tickAt = min(s.station.NextTick(), s.run.next(), s.ops.next())
	d := s.tickAt.Sub(now)
	s.unlock()
	return max(d, 0)
}

// next is when the next record's retention is over.
func (o *operations) next() work.Instant {
	oldest, ok := o.ended.first()
	if !ok {
		return work.Never
	}
	// No record needs to go at its instant; one visit a second lets go of many.
	return oldest.ended.Add(o.retention + time.Second)
}

// Gauges are the server's present state.
type Gauges struct {
	AtDoor, Queued, InService int
	Workers                   int // live, by what they say
	Polls                     int // requests for work that wait
	Waits                     int // operations that a client waits for
	Operations                int // that are known, pending or ended
	OldestAge                 time.Duration
	Margin                    time.Duration // in force, for a patience of a second
	Limit                     int           // that the door has learned; 0: it has none
	Discipline, Door          string
	SilentDrops, Closing      bool
	Counts                    Counts
}

// Gauges returns the present state.
func (s *Server) Gauges() Gauges {
	now := s.lock(s.clock())
	defer s.unlock()
	l, c := s.station.Load(), s.station.Config()
	g := Gauges{
		Queued: l.Queued, InService: l.InService, AtDoor: l.Door, Workers: s.workers.total(), Polls: s.polls.length,
		Waits: len(s.waits), Operations: len(s.ops.records), OldestAge: s.station.OldestAge(now),
		Margin: s.station.Margin(time.Second, now), SilentDrops: s.policy.silentDrops, Closing: s.closing, Counts: s.counts,
	}
	g.Discipline, g.Door = c.Queue.Discipline.String(), c.Door.String()
	g.Limit, _ = s.station.Limit(now)
	return g
}

// Ledger calls f with the ledger in force, under the server's lock: f must be
// quick, must not keep the ledger and must not call the server.
func (s *Server) Ledger(f func(*ledger.Ledger)) {
	s.lock(s.clock())
	defer s.unlock()
	f(s.run.ledger)
}
