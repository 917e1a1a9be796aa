// Package station is the server side of shedload as one pure state machine: the
// door, the queue and the units in service, with a ledger event for each thing
// that happens to a unit. The live server and the simulator both drive this
// code; they add only transport and time.
//
//	Arrive ─ door ─┬─ refused
//	               ├─ waits at the door ─ asked again when something ends
//	               └─ queue ─┬─ dropped
//	                         └─ Take ─ in service ─ Finish, or lost
package station

import (
	"fmt"
	"time"

	"shedload/internal/admit"
	"shedload/internal/ledger"
	"shedload/internal/queue"
	"shedload/internal/work"
)

// Host is told of the end of each unit, exactly once, in the call that ends it:
// refused, dropped, succeeded (finished, on time or late) or failed (broken,
// lost, canceled: the last with the zero Outcome). It must not call back into
// the station.
type Host interface {
	Ended(u work.Unit, r work.Result)
}

// Config is what a station is made of. Its zero durations mean "none".
type Config struct {
	Queue queue.Config
	Door  admit.Spec
	// Classes are the classes that Unit.Class indexes; empty means one class.
	Classes []work.Class
	// HardLimit bounds the units that are queued or wait at the door: a guard of
	// memory, not a policy.
	HardLimit int
	// LeaseTimeout is how long a worker may keep a unit before it is lost; a change
	// holds for the units in service, too.
	LeaseTimeout time.Duration
	// RetryAfter and DoNotRetry go with each refusal and drop, unless the door says its own.
	RetryAfter time.Duration
	DoNotRetry bool
	// Workers is the number of workers until SetWorkers tells better.
	Workers int
}

// DefaultHardLimit is used when a Config has no HardLimit.
const DefaultHardLimit = 1_000_000

// Station is a door, a queue and the units in service. It is not safe for
// concurrent use, and instants must not go backwards from call to call.
type Station struct {
	config  Config
	queue   *queue.Queue
	door    admit.Policy
	host    Host
	record  func(ledger.Event)
	waiting waitingList
	leases  leaseTable
	load    admit.Load
	now     work.Instant
	onDrop  queue.Dropped
}

// New returns a station that tells host of ends and record of events. The error
// names the part of c that cannot be.
func New(c Config, host Host, record func(ledger.Event)) (*Station, error) {
	s := &Station{host: host, record: record, leases: newLeaseTable()}
	s.onDrop = s.dropped
	s.load.Workers = c.Workers
	if err := s.Configure(c, 0); err != nil {
		return nil, err
	}
	return s, nil
}

// Configure switches to c while the station runs: units that are queued, wait
// at the door or are in service stay. An error changes nothing.
func (s *Station) Configure(c Config, now work.Instant) error {
	if len(c.Classes) > work.MaxClasses {
		return fmt.Errorf("%d classes: at most %d are allowed", len(c.Classes), work.MaxClasses)
	}
	door, err := c.Door.New(c.Classes)
	if err != nil {
		return fmt.Errorf("door: %w", err)
	}
	if c.HardLimit == 0 {
		c.HardLimit = DefaultHardLimit
	}
	c.Queue.Classes, c.Queue.Workers = c.Classes, s.load.Workers
	if s.queue == nil {
		s.queue = queue.New(c.Queue)
	} else {
		s.queue.Configure(c.Queue)
	}
	s.config, s.door = c, door
	for len(s.load.PerClass) < max(1, len(c.Classes)) {
		s.load.PerClass = append(s.load.PerClass, 0)
	}
	s.now = now
	s.askWaiting()
	return nil
}

// Arrive brings a unit to the door. Its Enqueued must be now.
func (s *Station) Arrive(u work.Unit, now work.Instant) {
	s.now = now
	s.record(ledger.Event{At: now, Kind: ledger.Arrived, Unit: u})
	switch {
	case now >= u.Deadline:
		s.refuse(u, admit.Verdict{Reason: work.ExpiredOnArrival})
		return
	case s.load.Queued+s.load.Door >= s.config.HardLimit:
		s.refuse(u, admit.Verdict{Reason: work.HardLimit})
		return
	}
	// Those who wait at the door were here first; only the door can say whether
	// a newcomer competes with them, so it sees how many there are.
	v := s.door.Admit(u, s.load, now)
	switch {
	case v.WaitUntil > now:
		v.WaitUntil = min(v.WaitUntil, u.Deadline)
		s.waiting.push(waiter{u, v})
		s.load.Door++
	case v.Reason != work.None:
		s.refuse(u, v)
	default:
		s.enqueue(u)
	}
}

// Take hands the next unit to an idle worker; false when there is none to serve.
func (s *Station) Take(now work.Instant) (work.Unit, bool) {
	s.now = now
	u, ok := s.queue.Take(now, s.onDrop)
	s.load.Queued = s.queue.Len()
	if ok {
		s.load.InService++
		s.leases.add(u, now)
		s.record(ledger.Event{At: now, Kind: ledger.Started, Unit: u})
	}
	s.askWaiting()
	return u, ok
}

// Done is a worker's report on a unit.
type Done struct {
	Work time.Duration // time spent working
	OK   bool
}

// Finish ends the unit that a worker had. False means that the worker did not
// have it: it was lost before (then its work is recorded as wasted) or never handed out.
func (s *Station) Finish(id uint64, d Done, now work.Instant) bool {
	s.now = now
	l, ok := s.leases.remove(id)
	if !ok {
		if u, lost := s.leases.late(id); lost {
			s.record(ledger.Event{At: now, Kind: ledger.Stale, Unit: u, Took: d.Work})
		}
		return false
	}
	u := l.unit
	s.load.InService--
	s.leave(u)
	if !d.OK {
		s.record(ledger.Event{At: now, Kind: ledger.Broke, Unit: u, Took: d.Work, Reason: work.Broken})
		s.learn(u, admit.Ignored)
		s.host.Ended(u, work.Result{Outcome: work.Failed, Reason: work.Broken})
	} else {
		// The station's own measure includes the round trip to the worker: that is
		// what a unit costs here, so that is what a margin has to cover.
		held := now.Sub(l.taken)
		s.queue.Observe(held, now)
		s.load.Service = recentMean(s.load.Service, held)
		s.record(ledger.Event{At: now, Kind: ledger.Finished, Unit: u, Took: d.Work})
		s.learn(u, sampleOutcome(now <= u.Deadline))
		s.host.Ended(u, work.Result{Outcome: work.Succeeded})
	}
	s.askWaiting()
	return true
}

// Lose ends a unit whose hand-off broke, or whose worker is known to be dead.
func (s *Station) Lose(id uint64, now work.Instant) {
	s.now = now
	if u, ok := s.leases.lose(id); ok {
		s.lost(u)
		s.askWaiting()
	}
}

// Leave is told that a unit's client left. It frees a unit that is queued or
// waits at the door; one in service goes on. False means that nothing was freed.
func (s *Station) Leave(id uint64, now work.Instant) bool {
	s.now = now
	u, atDoor := s.waiting.remove(id)
	ok := atDoor
	if atDoor {
		s.load.Door--
	} else if u, ok = s.queue.Remove(id); ok {
		s.load.Queued = s.queue.Len()
		s.leave(u)
	} else {
		return false
	}
	s.record(ledger.Event{At: now, Kind: ledger.Canceled, Unit: u, Door: atDoor})
	s.host.Ended(u, work.Result{})
	s.askWaiting()
	return true
}

// Extend gives a unit that is queued or in service a later deadline, as when a
// retry resumes it. False means that it is neither.
func (s *Station) Extend(id uint64, deadline work.Instant) bool {
	return s.queue.Extend(id, deadline) || s.leases.extend(id, deadline)
}

// Tick ends what ran out: waits at the door and leases. Call it at NextTick; a
// call too early does nothing.
func (s *Station) Tick(now work.Instant) {
	s.now = now
	for {
		w, ok := s.waiting.expired(now)
		if !ok {
			break
		}
		s.load.Door--
		s.refuse(w.unit, w.verdict)
	}
	for {
		u, ok := s.leases.expired(now, s.config.LeaseTimeout)
		if !ok {
			break
		}
		s.lost(u)
	}
	s.askWaiting()
}

// NextTick is the next instant at which Tick may have something to end.
func (s *Station) NextTick() work.Instant {
	return min(s.waiting.next(), s.leases.next(s.config.LeaseTimeout))
}

// Close ends all that waits: at the door as refused, in the queue as dropped.
// Units in service stay until they finish or are lost.
func (s *Station) Close(now work.Instant) {
	s.now = now
	for {
		u, ok := s.waiting.pop()
		if !ok {
			break
		}
		s.load.Door--
		s.refuse(u, admit.Verdict{Reason: work.ShuttingDown})
	}
	s.queue.Drain(work.Closed, s.onDrop)
	s.load.Queued = s.queue.Len()
}

// CloseService ends all that is in service as lost.
func (s *Station) CloseService(now work.Instant) {
	s.now = now
	for _, id := range s.leases.ids() {
		s.Lose(id, now)
	}
}
