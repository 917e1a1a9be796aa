package client

import (
	"shedload/internal/retry"
	"shedload/internal/work"
)

// counts is what the generator counts beside the ledger.
type counts struct {
	exchanges   int // attempts that have left and are neither answered nor cut off
	atEnd       int // exchanges when the run ended
	lateAnswers int64
	cut         int64
	errors      [numErrorKinds]int64
}

// Stats is a generator at one moment.
type Stats struct {
	Now   work.Instant
	Rate  float64 // new requests per second that the open loops ask for
	Phase string  // the phase in force, "" when there is none
	// InFlight are the attempts that have left and are still open on the wire; after
	// the run, those that were so at its end.
	InFlight int
	// Waiting are the attempts that wait for a connection.
	Waiting int
	// Conns are the raw connections that are open, Idle those of them that are free.
	Conns, Idle int
	// LateAnswers came after patience, Cut exchanges were broken off by the client.
	LateAnswers, Cut int64
	// ClientErrors counts why attempts got no answer. Kinds without a count are absent.
	ClientErrors map[string]int64
	Groups       []GroupStats
	Over         bool
}

// GroupStats is a group at one moment; of one that is spread over processes, the
// open requests of all and the gates of the first.
type GroupStats struct {
	Name  string
	Open  int // requests under way and users that think
	Gates retry.Gauges
}

// Stats returns the present figures. It may be called at any time.
func (g *Generator) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{
		Now: g.now(), InFlight: g.counts.exchanges, LateAnswers: g.counts.lateAnswers, Cut: g.counts.cut,
		ClientErrors: map[string]int64{}, Over: g.over,
	}
	if g.over {
		s.InFlight = g.counts.atEnd
	}
	for k, n := range g.counts.errors {
		if n > 0 {
			s.ClientErrors[errorKind(k).String()] = n
		}
	}
	if g.pool != nil {
		s.Conns, s.Idle, s.Waiting = len(g.pool.all), len(g.pool.idle), len(g.pool.waiting)
	}
	for _, m := range g.members {
		group := GroupStats{Name: m.spec.Population.Name, Gates: m.groups[0].Gauges(s.Now)}
		for _, part := range m.groups {
			group.Open += part.Len()
		}
		s.Groups = append(s.Groups, group)
		if m.schedule != nil {
			s.Rate += m.schedule.Rate(s.Now)
			if s.Phase == "" {
				s.Phase = m.schedule.PhaseAt(s.Now)
			}
		}
	}
	return s
}
