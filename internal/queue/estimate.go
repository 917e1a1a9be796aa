package queue

import (
	"time"

	"shedload/internal/work"
)

const (
	// fewSamples is the number below which a p99 says nothing.
	fewSamples = 50
	// leastSlack is the room above p99 even for perfectly steady work: the hand-off
	// and the way back take time as well.
	leastSlack = 5 * time.Millisecond
	// probeAfter is how long no finished work may be seen before a unit is let
	// through that the margin would have dropped.
	probeAfter = time.Second
	// refreshEvery bounds how often the quantiles are read: not at each Take.
	refreshEvery = 100 * time.Millisecond
)

// estimate is the automatic margin: p99 + max(5ms, p99 - p50) of the service
// times of the last 10 s. Learned from a bad time it could drop everything, see no
// finished work any more and so never learn better. Three things prevent that: at
// most half of a unit's patience, no margin at all without enough samples, and a
// probe whenever nothing was seen for a second.
type estimate struct {
	window  window
	margin  time.Duration
	valid   bool         // margin was read from at least fewSamples
	refresh work.Instant // when margin is read again
	seen    work.Instant // latest sample, or latest probe handed out
}

// observe takes in the service time of a unit that finished at now.
func (e *estimate) observe(service time.Duration, now work.Instant) {
	e.window.add(service, now)
	e.seen = now
}

// handedOut notes that a unit went to a worker: if it was a probe, the next one
// has to wait.
func (e *estimate) handedOut(now work.Instant) {
	if e.probeDue(now) {
		e.seen = now
	}
}

// probeDue reports whether the next unexpired unit goes through whatever its margin.
func (e *estimate) probeDue(now work.Instant) bool { return now.Sub(e.seen) >= probeAfter }

// forUnit returns the margin in force for u.
func (e *estimate) forUnit(u work.Unit, now work.Instant) time.Duration {
	if e.probeDue(now) {
		return 0
	}
	return max(0, min(e.current(now), u.Deadline.Sub(u.Enqueued)/2))
}

func (e *estimate) current(now work.Instant) time.Duration {
	if e.valid && now < e.refresh {
		return e.margin
	}
	e.window.advance(now)
	e.valid = e.window.n >= fewSamples
	if !e.valid {
		return 0
	}
	p50, p99 := e.window.quantiles()
	e.margin = p99 + max(leastSlack, p99-p50)
	e.refresh = now.Add(refreshEvery)
	return e.margin
}
