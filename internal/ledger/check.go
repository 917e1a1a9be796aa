package ledger

import (
	"fmt"
	"slices"
	"time"
)

// maxCount bounds what a snapshot may claim, so that no sum of counts overflows.
const maxCount = 1 << 50

// maxTime bounds the work that a snapshot may claim: half of what can be told.
const maxTime = 1 << 62 / 64

// check says what in s is impossible for l. It does not check that the sums add
// up: that is for Conservation to report, not for the poll to die of.
func (s *Snapshot) check(l *Ledger) error {
	switch {
	case s.Resolution != l.unit:
		return fmt.Errorf("resolution %v: %v is expected", s.Resolution, l.unit)
	case !slices.Equal(s.Classes, l.config.Classes):
		return fmt.Errorf("classes %q: %q are expected", s.Classes, l.config.Classes)
	case len(s.Totals) != len(l.server):
		return fmt.Errorf("totals of %d classes: %d are expected", len(s.Totals), len(l.server))
	case len(s.Rows) > MaxRows:
		return fmt.Errorf("%d rows: at most %d are allowed", len(s.Rows), MaxRows)
	case s.From < 0 || s.From > l.mergedTo:
		return fmt.Errorf("rows from second %d: those from %d on are missing", s.From, l.mergedTo)
	case !counts(s.PeakQueue, s.PeakRate) || !gauged(s.Door, s.Queued, s.InService):
		return fmt.Errorf("peaks %d, %d or gauges %d, %d, %d are out of range", s.PeakQueue, s.PeakRate, s.Door, s.Queued, s.InService)
	}
	for i := range s.Totals {
		if !s.Totals[i].possible() {
			return fmt.Errorf("totals of class %d are out of range", i)
		}
	}
	for i := range s.Rows {
		if !s.Rows[i].possible() {
			return fmt.Errorf("row of second %d is out of range", s.From+i)
		}
	}
	return nil
}

func counts(ns ...int64) bool {
	return !slices.ContainsFunc(ns, func(n int64) bool { return n < 0 || n > maxCount })
}

// gauged allows negative numbers: they show a unit that ended twice.
func gauged(ns ...int64) bool {
	return !slices.ContainsFunc(ns, func(n int64) bool { return n < -maxCount || n > maxCount })
}

func times(ds ...time.Duration) bool {
	return !slices.ContainsFunc(ds, func(d time.Duration) bool { return d < 0 || d > maxTime })
}

func (t *ServerTotals) possible() bool {
	return counts(t.Arrived, t.First, t.Carried, t.Queued, t.Started, t.OnTime, t.Late, t.Failed, t.Canceled, t.Lost, t.Stale) &&
		counts(t.Refused[:]...) && counts(t.Dropped[:]...) && times(t.Work, t.Wasted)
}

func (r *ServerRow) possible() bool {
	return counts(r.Arrived, r.First, r.Throughput, r.Goodput, r.Late, r.Refused, r.Dropped, r.Failed, r.Canceled, r.Lost, r.Busy) &&
		gauged(r.Queue, r.InService) && times(r.Work, r.Wasted, r.OldestAge)
}

func (s *Snapshot) adoptWindows(l *Ledger) ([]WindowDone, error) {
	var out []WindowDone
	for i := range l.windows {
		if !l.windows[i].spec.Completed {
			continue
		}
		n := len(out)
		if n >= len(s.Windows) {
			return nil, fmt.Errorf("%d windows of completed units: more were asked for", n)
		}
		d := s.Windows[n]
		h, err := d.Sojourn.adopt(l.unit)
		if err != nil {
			return nil, fmt.Errorf("window %q: %w", l.windows[i].spec.Name, err)
		}
		if !counts(d.OnTime, d.Late) {
			return nil, fmt.Errorf("window %q: counts %d, %d", l.windows[i].spec.Name, d.OnTime, d.Late)
		}
		d.Sojourn = h
		out = append(out, d)
	}
	if len(out) != len(s.Windows) {
		return nil, fmt.Errorf("%d windows of completed units: %d were asked for", len(s.Windows), len(out))
	}
	return out, nil
}
