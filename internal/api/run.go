package api

import (
	"fmt"
	"strconv"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

const second = work.Instant(time.Second)

// run is the ledger in force. A new one can begin while the server runs; its
// instant 0 then lies ahead, and what is pending at that instant is carried over.
type run struct {
	ledger  *ledger.Ledger
	spec    runSpec
	begun   bool
	sampled work.Instant // the next whole second to sample, on the server's clock
}

// runSpec is what a run is made of.
type runSpec struct {
	process string // names this life of the server
	number  int    // of the run in it
	classes []string
	base    work.Instant  // instant 0 of the ledger, on the server's clock
	horizon time.Duration // 0: no end
	windows []ledger.WindowSpec
}

func (r runSpec) instance() string { return r.process + "-" + strconv.Itoa(r.number) }

func newRun(spec runSpec) (run, error) {
	c := ledger.Config{
		Instance: spec.instance(), Classes: spec.classes, Windows: spec.windows, Horizon: work.Instant(spec.horizon),
	}
	if err := c.Validate(); err != nil {
		return run{}, fmt.Errorf("ledger: %w", err)
	}
	return run{ledger: ledger.New(c), spec: spec, sampled: spec.base + second}, nil
}

// record counts an event of the server's clock. Before its beginning a run
// counts nothing.
func (r *run) record(e ledger.Event) {
	if !r.begun {
		return
	}
	base := r.spec.base
	e.At -= base
	e.Unit.Enqueued -= base
	if e.Unit.Deadline != work.Never {
		e.Unit.Deadline -= base
	}
	r.ledger.Record(e)
}

// over reports whether a run with a horizon has reached it; a run without one
// can be replaced at any time.
func (r *run) over(now work.Instant) bool {
	return r.spec.horizon == 0 || now >= r.spec.base.Add(r.spec.horizon)
}

// next is when the run has something to do by itself.
func (r *run) next() work.Instant {
	if !r.begun {
		return r.spec.base
	}
	return r.sampled
}

// maxSamples bounds the seconds that are sampled late, after a pause of the process.
const maxSamples = 60

// advanceRunLocked begins the run at its instant 0 and samples each second at its
// end, before anything that happens later.
func (s *Server) advanceRunLocked() {
	r := &s.run
	if !r.begun && s.now >= r.spec.base {
		r.begun = true
		s.carryLocked()
	}
	if !r.begun || s.now < r.sampled {
		return
	}
	if behind := (s.now - r.sampled) / second; behind > maxSamples {
		r.sampled += (behind - maxSamples) * second
	}
	for ; r.sampled <= s.now; r.sampled += second {
		s.station.Sample(r.sampled)
	}
	s.workers.expire(s.now, s.silenceLocked())
	s.countWorkersLocked()
}

// carryLocked brings what is pending into the new ledger, at its instant 0.
func (s *Server) carryLocked() {
	base := s.run.spec.base
	for id, rec := range s.ops.records {
		if !rec.pending() {
			continue
		}
		u := rec.unit(id)
		s.run.record(ledger.Event{At: base, Kind: ledger.Carried, Unit: u})
		if rec.place >= queued {
			s.run.record(ledger.Event{At: base, Kind: ledger.Queued, Unit: u})
		}
		if rec.place >= inService {
			s.run.record(ledger.Event{At: base, Kind: ledger.Started, Unit: u})
		}
	}
}

// heldLocked is the driver's own count of what is pending.
func (s *Server) heldLocked() int64 {
	l := s.station.Load()
	return int64(l.Door + l.Queued + l.InService)
}

// advanceLocked brings everything up to now.
func (s *Server) advanceLocked() {
	s.advanceRunLocked()
	if s.station.NextTick() <= s.now {
		s.station.Tick(s.now)
	}
	s.ops.expire(s.now)
}
