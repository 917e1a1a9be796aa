package control

import (
	"context"
	"slices"
	"sync"
	"time"

	"shedload/internal/client"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// lane is a generator with its ledger, and what its server says of itself.
type lane struct {
	config    Lane
	generator *client.Generator
	ledger    *ledger.Ledger // under the generator's lock
	remote    *Remote        // nil without an admin address

	mu        sync.Mutex
	server    ledger.ServerRow // its last full second
	serverErr error            // why there is none
}

func newLane(c ServiceConfig, l Lane) (*lane, error) {
	plan := endless(c.Plan)
	made := &lane{config: l, ledger: ledger.New(ledger.Config{Classes: plan.ClassNames()})}
	if l.Target.APIAdmin != "" {
		made.remote = NewRemote(l.Target)
	}
	var err error
	made.generator, err = client.New(generatorConfig(plan, l.Target.Public, c.Plain, made.record))
	return made, err
}

// endless is p without an end, and without what happens in its course.
func endless(p scenario.Plan) scenario.Plan {
	p.Clients = slices.Clone(p.Clients)
	for i := range p.Clients {
		if a := &p.Clients[i].Arrivals; work.Instant(a.Until) >= horizon(p) {
			a.Until = 0
		}
	}
	p.Phases, p.Horizon = nil, 0
	return p
}

func (l *lane) record(e ledger.Event) {
	l.ledger.Record(e)
	if l.config.Observe != nil {
		l.config.Observe(e)
	}
}

func (l *lane) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	return l.generator.Prepare(ctx)
}

// follow asks the server each second how it does, until ctx ends.
func (l *lane) follow(ctx context.Context) {
	if l.remote == nil {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	next := 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		v, err := l.remote.Ledger(ctx, next)
		row, ok := lastFull(v)
		l.mu.Lock()
		if l.serverErr = err; err == nil && ok {
			l.server = row
		}
		l.mu.Unlock()
		if next = max(0, int(v.Now().Seconds())-2); err != nil {
			next = 0 // it may have begun anew
		}
	}
}

// lastFull returns the newest second that is over.
func lastFull(v LedgerView) (ledger.ServerRow, bool) {
	i := int(v.Now().Seconds()) - 1 - v.From
	if i < 0 || i >= len(v.Rows) {
		return ledger.ServerRow{}, false
	}
	return v.Rows[i], true
}

// LaneReading is one lane at one instant.
type LaneReading struct {
	Run    string
	Totals []ledger.ClientTotals // by class
	Second ledger.Row            // the last full second, of the client's view
	State  string
	Stats  client.Stats
	// Server is the server's last full second, and ServerErr why it is not known.
	Server    ledger.ServerRow
	HasServer bool
	ServerErr error
}

func (l *lane) read(baseline float64) LaneReading {
	r := LaneReading{Run: l.config.Run, Stats: l.generator.Stats(), HasServer: l.remote != nil}
	l.generator.Do(func(now work.Instant) {
		second := int(now.Seconds())
		r.Second, _ = l.ledger.Row(second - 1) // a second without events has no row
		r.State = l.ledger.State(second, baseline)
		for i := range l.ledger.Classes() {
			r.Totals = append(r.Totals, l.ledger.ClassTotals(i).ClientTotals)
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Server, r.ServerErr = l.server, l.serverErr
	return r
}

// Lane returns the lane of the given index at this instant.
func (s *Service) Lane(i int) LaneReading { return s.lanes[i].read(s.baseline()) }

// PhaseStart is when the last spike began; the zero time before the first.
func (s *Service) PhaseStart() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spike == nil {
		return time.Time{}
	}
	return s.spike.from
}
