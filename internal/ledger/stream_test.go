package ledger

import (
	"cmp"
	"slices"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

const ms = work.Instant(time.Millisecond)

// stream is a random valid history: requests with attempts that each take one of
// the ways through a server.
type stream struct {
	events []Event
	nextID uint64
}

// drawStream draws one over some seconds, in the order of time, but for a few
// events that are told late.
func drawStream(t *rapid.T, classes int) []Event {
	var s stream
	for i := range rapid.IntRange(0, 40).Draw(t, "requests") {
		s.request(t, uint64(i), uint8(rapid.IntRange(0, classes-1).Draw(t, "class")))
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "samples") {
		s.events = append(s.events, Event{
			At: work.Instant(i+1) * second, Kind: Sampled,
			Took: time.Duration(i) * time.Millisecond, Busy: uint32(i),
		})
	}
	slices.SortStableFunc(s.events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(s.events); i++ {
		if e := &s.events[i]; e.Kind != Sampled && rapid.IntRange(0, 9).Draw(t, "late") == 0 {
			e.At = max(e.At-20*ms, 0)
		}
	}
	return s.events
}

func (s *stream) request(t *rapid.T, id uint64, class uint8) {
	start := work.Instant(rapid.IntRange(0, 5000).Draw(t, "start")) * ms
	now := start
	unit := work.Unit{Request: id, Class: class}
	s.add(Event{At: now, Kind: Wished, Unit: unit})
	end := End(rapid.IntRange(1, NumEnds-1).Draw(t, "end"))
	tries := rapid.IntRange(1, 3).Draw(t, "tries")
	if end == EndThrottled {
		tries = 0
	}
	for k := range tries {
		unit.Attempt = uint16(k + 1)
		now = s.attempt(t, unit, now, end == EndSucceeded && k == tries-1)
	}
	if end != EndUnfinished || rapid.Bool().Draw(t, "closed") {
		s.add(Event{At: now, Kind: Ended, Start: start, End: end, Took: now.Sub(start), Unit: unit})
	}
}

// attempt makes one, and returns when its client knew the answer.
func (s *stream) attempt(t *rapid.T, u work.Unit, now work.Instant, good bool) work.Instant {
	lateness := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 101 * time.Millisecond}).Draw(t, "lateness")
	s.add(Event{At: now.Add(lateness), Kind: Sent, Took: lateness, Unit: u})
	if rapid.IntRange(0, 19).Draw(t, "lost on the way") == 0 {
		s.add(Event{At: now.Add(lateness), Kind: Answered, Outcome: work.ClientError, Unit: u})
		return now.Add(lateness)
	}
	s.nextID++
	u.ID, u.Enqueued, u.Deadline = s.nextID, now.Add(lateness), now.Add(time.Second)
	left := s.serve(t, u)
	outcome := work.TimedOut
	if good {
		outcome = work.Succeeded
	}
	s.add(Event{At: left, Kind: Answered, Outcome: outcome, Took: left.Sub(now), Unit: u})
	return left
}

// serve takes u one of the ways through the server; some are still on it at the end.
func (s *stream) serve(t *rapid.T, u work.Unit) work.Instant {
	now := u.Enqueued
	pause := func() work.Instant {
		now = now.Add(time.Duration(rapid.IntRange(0, 700).Draw(t, "pause")) * time.Millisecond)
		return now
	}
	s.add(Event{At: now, Kind: Arrived, Unit: u})
	switch rapid.IntRange(0, 5).Draw(t, "door") {
	case 0:
		s.add(Event{At: pause(), Kind: Refused, Reason: work.QueueFull, Unit: u})
		return now
	case 1:
		kind := rapid.SampledFrom([]Kind{Dropped, Canceled, 0}).Draw(t, "at the door")
		s.add(Event{At: pause(), Kind: kind, Reason: work.Closed, Door: true, Unit: u})
		return now
	}
	s.add(Event{At: pause(), Kind: Queued, Unit: u})
	switch rapid.IntRange(0, 5).Draw(t, "queue") {
	case 0:
		kind := rapid.SampledFrom([]Kind{Dropped, Canceled, 0}).Draw(t, "on the queue")
		s.add(Event{At: pause(), Kind: kind, Reason: work.Doomed, Unit: u})
		return now
	}
	s.add(Event{At: pause(), Kind: Started, Unit: u})
	took := 50 * time.Millisecond
	kind := rapid.SampledFrom([]Kind{Finished, Finished, Broke, Lost, 0}).Draw(t, "worker")
	s.add(Event{At: pause(), Kind: kind, Took: took, Unit: u})
	if kind == Lost && rapid.Bool().Draw(t, "reports after all") {
		s.add(Event{At: pause(), Kind: Stale, Took: took, Unit: u})
	}
	return now
}

// add appends e; a Kind of 0 stands for nothing.
func (s *stream) add(e Event) {
	if e.Kind != 0 {
		s.events = append(s.events, e)
	}
}
