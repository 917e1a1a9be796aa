package station

import (
	"time"

	"shedload/internal/admit"
	"shedload/internal/ledger"
	"shedload/internal/work"
)

func (s *Station) enqueue(u work.Unit) {
	s.record(ledger.Event{At: s.now, Kind: ledger.Queued, Unit: u, Took: s.now.Sub(u.Enqueued)})
	s.load.PerClass[u.Class]++
	s.queue.Push(u, s.now, s.onDrop)
	s.load.Queued = s.queue.Len()
}

// askWaiting asks the door again for those who wait, in arrival order. The first
// who must go on waiting does not hold back one of another class: the door may
// have a place for it in another compartment.
func (s *Station) askWaiting() {
	s.waiting.filter(func(u work.Unit) (keep bool) {
		s.load.Door--
		v := s.door.Admit(u, s.load, s.now)
		switch {
		case v.WaitUntil > s.now:
			s.load.Door++
			return true
		case v.Reason != work.None:
			s.refuse(u, v)
		default:
			s.enqueue(u)
		}
		return false
	})
}

func (s *Station) refuse(u work.Unit, v admit.Verdict) {
	s.record(ledger.Event{At: s.now, Kind: ledger.Refused, Unit: u, Reason: v.Reason, Took: s.now.Sub(u.Enqueued)})
	r := s.told(work.Refused, v.Reason)
	if v.RetryAfter > 0 {
		r.RetryAfter = v.RetryAfter
	}
	r.DoNotRetry = r.DoNotRetry || v.DoNotRetry
	s.host.Ended(u, r)
}

func (s *Station) dropped(u work.Unit, reason work.Reason) {
	s.leave(u)
	s.record(ledger.Event{At: s.now, Kind: ledger.Dropped, Unit: u, Reason: reason, Took: s.now.Sub(u.Enqueued)})
	s.learn(u, admit.Dropped)
	s.host.Ended(u, s.told(work.Dropped, reason))
}

func (s *Station) lost(u work.Unit) {
	s.load.InService--
	s.leave(u)
	s.record(ledger.Event{At: s.now, Kind: ledger.Lost, Unit: u, Reason: work.LostUnit})
	s.learn(u, admit.Ignored)
	s.host.Ended(u, work.Result{Outcome: work.Failed, Reason: work.LostUnit})
}

func (s *Station) told(o work.Outcome, r work.Reason) work.Result {
	return work.Result{Outcome: o, Reason: r, RetryAfter: s.config.RetryAfter, DoNotRetry: s.config.DoNotRetry}
}

func (s *Station) leave(u work.Unit) { s.load.PerClass[u.Class]-- }

// learn tells an adaptive door how a unit that it admitted fared.
func (s *Station) learn(u work.Unit, o admit.SampleOutcome) {
	if l, ok := s.door.(admit.Learner); ok {
		inFlight := s.load.Queued + s.load.InService + 1 // with the one that just ended
		l.Learn(admit.Sample{Latency: s.now.Sub(u.Enqueued), InFlight: inFlight, Outcome: o}, s.now)
	}
}

func sampleOutcome(onTime bool) admit.SampleOutcome {
	if onTime {
		return admit.OK
	}
	return admit.Dropped
}

// recentMean is a moving mean in which a value counts for about eight more.
func recentMean(mean, value time.Duration) time.Duration {
	if mean == 0 {
		return value
	}
	return mean + (value-mean)/8
}

// SetWorkers tells how many workers there are now.
func (s *Station) SetWorkers(n int) {
	s.load.Workers = n
	s.queue.SetWorkers(n)
}

// Load is what the station holds now. Its PerClass must not be changed.
func (s *Station) Load() admit.Load { return s.load }

// Config returns the configuration in force.
func (s *Station) Config() Config { return s.config }

// OldestAge is how long the oldest queued unit has waited; 0 when the queue is empty.
func (s *Station) OldestAge(now work.Instant) time.Duration {
	if u, ok := s.queue.Oldest(); ok {
		return now.Sub(u.Enqueued)
	}
	return 0
}

// Margin is the drop margin in force for a unit with this patience; 0 without a deadline shed.
func (s *Station) Margin(patience time.Duration, now work.Instant) time.Duration {
	return s.queue.Margin(work.Unit{Enqueued: now, Deadline: now.Add(patience)}, now)
}

// Limit is the limit that an adaptive door has learned; false where the door has none.
func (s *Station) Limit(now work.Instant) (int, bool) {
	if l, ok := s.door.(admit.Limiter); ok {
		return l.Limit(now), true
	}
	return 0, false
}

// Sample records the gauges at the end of a second.
func (s *Station) Sample(now work.Instant) {
	s.record(ledger.Event{At: now, Kind: ledger.Sampled, Took: s.OldestAge(now), Busy: uint32(s.load.InService)})
}
