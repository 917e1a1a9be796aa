package ledger

import (
	"time"

	"shedload/internal/work"
)

// Ledger counts what happened in a run. Use New. Not safe for concurrent use.
type Ledger struct {
	config Config
	unit   time.Duration
	server []ServerTotals // by class
	client []ClientTotals // by class
	rows   ring
	place  places

	served, shed, request, toldNo, lateness *Histogram
	windows                                 []window

	events      int64 // of the server's view; they order snapshots
	hasClient   bool  // there is a client's view
	peakSent    int64 // most attempts sent in a second
	peakArrived int64 // most that arrived in one

	instance string // of the server whose view was merged; "" before
	mergedTo int    // rows of that view before this second are here
	held     *int64 // what that server held, by its own count
}

// places counts the attempts on the server by where they are.
type places struct {
	door, queued, inService int64
	peak                    int64        // longest queue that lasted
	at                      work.Instant // of the last change of queued
}

// New returns an empty ledger. It panics on a Config that Validate rejects.
func New(c Config) *Ledger {
	if err := c.Validate(); err != nil {
		panic("ledger: " + err.Error())
	}
	unit := c.Resolution
	if unit == 0 {
		unit = time.Microsecond
	}
	n := max(len(c.Classes), 1)
	l := &Ledger{
		config: c, unit: unit, server: make([]ServerTotals, n), client: make([]ClientTotals, n), rows: newRing(c.rows()),
		served: newHistogram(unit), shed: newHistogram(unit), request: newHistogram(unit),
		toldNo: newHistogram(unit), lateness: newHistogram(unit),
	}
	for _, s := range c.Windows {
		l.windows = append(l.windows, newWindow(s, n, unit))
	}
	return l
}

// Record counts e. It does not allocate, and its time depends on the number of
// windows only. An event a little older than the newest is counted in its own
// row; one from before the start counts in row 0, one from before the oldest
// row that is kept only in the totals.
func (l *Ledger) Record(e Event) { l.record(&e, 1) }

// RecordN is Record for n things that are alike and happen at once.
func (l *Ledger) RecordN(e Event, n int64) { l.record(&e, n) }

func (l *Ledger) record(e *Event, n int64) {
	if l.config.Horizon > 0 && e.At >= l.config.Horizon && !l.closing(e) {
		return
	}
	class := int(e.Unit.Class)
	if class >= len(l.server) {
		class = 0
	}
	if e.Kind >= Wished {
		l.recordClient(e, class, n)
		return
	}
	l.events += n
	if e.Kind == Sampled {
		l.rows.sample(e)
		return
	}
	l.recordServer(e, class, n)
}

// closing reports whether an event at the horizon belongs to the run all the
// same: the sample at the end of the last row, and the count of the tries of a
// request that ends unfinished.
func (l *Ledger) closing(e *Event) bool {
	switch e.Kind {
	case Sampled:
		return e.At == l.config.Horizon
	case Ended:
		if e.End == EndUnfinished {
			e.At = l.config.Horizon - 1
			return true
		}
	}
	return false
}

func (l *Ledger) recordServer(e *Event, class int, n int64) {
	t, row := &l.server[class], l.rows.at(e.At)
	switch e.Kind {
	case Carried:
		t.Arrived += n
		t.Carried += n
		l.place.door += n
	case Arrived:
		t.Arrived += n
		l.place.door += n
		row.Arrived += n
		l.peakArrived = max(l.peakArrived, row.Arrived)
		if e.Unit.Attempt == 1 {
			t.First += n
			row.First += n
		}
	case Queued:
		t.Queued += n
		l.place.door -= n
		l.queue(e.At, n)
	case Refused:
		t.Refused[reason(e)] += n
		row.Refused += n
		l.place.door -= n
		l.shed.record(e.At.Sub(e.Unit.Enqueued), n)
	case Dropped:
		t.Dropped[reason(e)] += n
		row.Dropped += n
		l.leave(e, n)
		l.shed.record(e.At.Sub(e.Unit.Enqueued), n)
	case Canceled:
		t.Canceled += n
		row.Canceled += n
		l.leave(e, n)
	case Started:
		t.Started += n
		l.queue(e.At, -n)
		l.service(e.At, n)
	case Finished, Broke, Lost, Stale:
		l.recordReport(e, t, row, n)
	}
}

// recordReport counts what became of a unit that a worker had.
func (l *Ledger) recordReport(e *Event, t *ServerTotals, row *Row, n int64) {
	took := e.Took * time.Duration(n)
	wasted := took
	switch e.Kind {
	case Finished:
		row.Throughput += n
		late := e.At > e.Unit.Deadline
		if late {
			t.Late += n
			row.Late += n
		} else {
			t.OnTime += n
			row.Goodput += n
			wasted = 0
		}
		sojourn := e.At.Sub(e.Unit.Enqueued)
		l.served.record(sojourn, n)
		for i := range l.windows {
			l.windows[i].finished(e.At, sojourn, late, n)
		}
	case Broke:
		t.Failed += n
		row.Failed += n
	case Lost:
		t.Lost += n
		row.Lost += n
		l.service(e.At, -n)
		return // what the worker did, if anything, is told by Stale
	case Stale:
		t.Stale += n
	}
	if e.Kind != Stale {
		l.service(e.At, -n)
	}
	t.Work += took
	t.Wasted += wasted
	row.Work += took
	row.Wasted += wasted
}

func reason(e *Event) work.Reason {
	if e.Reason >= work.NumReasons {
		return work.None
	}
	return e.Reason
}

// leave takes a unit out of the place where it waited.
func (l *Ledger) leave(e *Event, n int64) {
	if e.Door {
		l.place.door -= n
	} else {
		l.queue(e.At, -n)
	}
}

// queue changes the length of the queue. Changes of one instant are seen
// together, so that a unit which an idle worker takes at once was never queued.
func (l *Ledger) queue(at work.Instant, by int64) {
	p := &l.place
	if at != p.at {
		p.peak = max(p.peak, p.queued)
		p.at = at
	}
	p.queued += by
	l.rows.queue(at, by)
}

func (l *Ledger) service(at work.Instant, by int64) {
	l.place.inService += by
	l.rows.service(at, by)
}

func (l *Ledger) recordClient(e *Event, class int, n int64) {
	t, row := &l.client[class], l.rows.at(e.At)
	l.hasClient = true
	switch e.Kind {
	case Wished:
		t.Requests += n
		row.Requests += n
		for i := range l.windows {
			l.windows[i].wished(e.At, class, n)
		}
	case Sent:
		t.Sent += n
		row.Sent += n
		l.peakSent = max(l.peakSent, row.Sent)
		if e.Unit.Attempt == 1 {
			t.SentFirst += n
		}
		if e.Took > MissedAfter {
			t.LateSends += n
		}
		l.lateness.record(e.Took, n)
	case Missed:
		t.Missed += n
		row.Missed += n
	case Resumed:
		t.Resumed += n
		row.Resumed += n
	case Answered:
		if e.Outcome < work.NumOutcomes {
			t.Answered[e.Outcome] += n
		}
		switch e.Outcome {
		case work.Succeeded:
			row.GoodputClient += n
		case work.Refused, work.Dropped:
			l.toldNo.record(e.Took, n)
		case work.TimedOut:
			row.TimedOut += n
		case work.ClientError:
			row.ClientErrors += n
		}
	case Ended:
		l.recordEnd(e, class, row, n)
	}
}

func (l *Ledger) recordEnd(e *Event, class int, row *Row, n int64) {
	t := &l.client[class]
	if e.End < NumEnds {
		t.Ended[e.End] += n
	}
	t.Tries += n * int64(e.Unit.Attempt)
	switch e.End {
	case EndSucceeded:
		row.Succeeded += n
		l.request.record(e.Took, n)
		if e.Unit.Attempt == 1 {
			if start := l.rows.past(e.Start); start != nil {
				start.FirstOK += n
			}
		}
	case EndGaveUpAttempts, EndGaveUpGate:
		row.GaveUp += n
	case EndThrottled:
		row.Throttled += n
	}
	for i := range l.windows {
		l.windows[i].ended(e, class, n)
	}
}
