package app

import (
	"sync"
	"time"

	"shedload/internal/api"
	"shedload/internal/ledger"
	"shedload/internal/metrics"
	"shedload/internal/work"
)

// unnamed is the class label where no classes are configured.
const unnamed = "all"

func names(classes []work.Class) []string {
	if len(classes) == 0 {
		return []string{unnamed}
	}
	all := make([]string, len(classes))
	for i, c := range classes {
		all[i] = c.Name
	}
	return all
}

// serverReader reads an API server for the metrics. read is safe for concurrent use.
type serverReader struct {
	server    *api.Server
	hardLimit int
	classes   []string

	mu      sync.Mutex
	policy  string // the last one read
	changed time.Time
}

func (s *serverReader) read() metrics.ServerReading {
	g, p := s.server.Gauges(), s.server.Policy()
	r := metrics.ServerReading{
		Classes: s.classes, Queue: g.Queued, InService: g.InService, Waiting: g.AtDoor, Workers: g.Workers,
		OldestAge: g.OldestAge, DoorLimit: g.Limit, HardLimit: s.hardLimit, Discipline: g.Discipline,
		Door: g.Door, Margin: g.Margin, Operations: g.Operations,
	}
	if r.DoorLimit == 0 {
		r.DoorLimit = p.Door.Limit // one that nothing is learned about
	}
	r.Changed = s.lastChange(r.Discipline + " " + r.Door + " " + p.DropMargin.String())
	s.server.Ledger(func(l *ledger.Ledger) {
		for i := range l.Classes() {
			r.Totals = append(r.Totals, l.ClassTotals(i).ServerTotals)
		}
		last := lastSecond(l)
		row, _ := l.Row(last) // before the first second it is the zero row
		r.Second = row.ServerRow
		r.State = l.State(last+1, 0)
		r.Capacity = capacity(l.Rows(last-ledger.StateRows), r.Workers)
	})
	return r
}

// lastChange notes when a reading first saw another policy.
func (s *serverReader) lastChange(policy string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if policy != s.policy {
		if s.policy != "" {
			s.changed = time.Now()
		}
		s.policy = policy
	}
	return s.changed
}

// lastSecond is the newest second that is over: it is sampled at its end.
func lastSecond(l *ledger.Ledger) int {
	last := l.NextRow() - 1
	if row, ok := l.Row(last); ok && !row.Sampled {
		last--
	}
	return last
}

// capacity is what the workers can finish in a second, going by recent work.
func capacity(rows ledger.Rows, workers int) float64 {
	var finished int64
	var spent time.Duration
	for _, row := range rows {
		finished += row.Throughput
		spent += row.Work
	}
	if spent <= 0 {
		return 0
	}
	return float64(workers) * float64(finished) / spent.Seconds()
}
