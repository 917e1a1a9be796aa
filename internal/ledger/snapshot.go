package ledger

import (
	"errors"
	"fmt"
	"time"
)

// Snapshot is the server's view as GET /v1/ledger serves it: totals since the
// ledger began and the rows from a given second on. It shares no memory with
// the ledger, so it can be encoded outside the driver's lock.
type Snapshot struct {
	Instance   string         `json:"instance"`
	Events     int64          `json:"events"` // recorded so far; a later snapshot never has fewer
	Resolution time.Duration  `json:"resolution_ns"`
	Classes    []string       `json:"classes"`
	Totals     []ServerTotals `json:"totals"` // by class; one when there are no classes
	From       int            `json:"from"`   // the second of the first row
	Rows       []ServerRow    `json:"rows"`
	Door       int64          `json:"door"`
	Queued     int64          `json:"queued"`
	InService  int64          `json:"in_service"`
	PeakQueue  int64          `json:"peak_queue"`
	PeakRate   int64          `json:"peak_arrived_per_s"`
	// Held is the driver's own count of pending attempts, for the check of
	// conservation. The driver sets it; nil leaves it unchecked.
	Held     *int64       `json:"held,omitempty"`
	Served   *Histogram   `json:"served"`
	ShedWait *Histogram   `json:"shed_wait"`
	Windows  []WindowDone `json:"windows,omitempty"` // of the completed kind, in order
}

// ErrInstance says that a snapshot comes from another server, or from the same
// one after a restart: what the first had counted is lost, and the run partial.
var ErrInstance = errors.New("the server's ledger is another one than before")

// ErrOld says that a snapshot is older than one that was merged before.
var ErrOld = errors.New("the snapshot is older than the last one")

// Snapshot returns the server's view with the rows from second from on.
func (l *Ledger) Snapshot(from int) Snapshot {
	from = max(from, l.rows.first)
	s := Snapshot{
		Instance: l.config.Instance, Events: l.events, Resolution: l.unit,
		Classes: append([]string{}, l.config.Classes...), Totals: append([]ServerTotals(nil), l.server...),
		From: from, Rows: []ServerRow{},
		Door: l.place.door, Queued: l.place.queued, InService: l.place.inService,
		PeakQueue: l.PeakQueue(), PeakRate: l.peakArrived, Held: l.held,
		Served: l.served.clone(), ShedWait: l.shed.clone(),
	}
	for i := from; i < l.rows.next; i++ {
		s.Rows = append(s.Rows, l.rows.slot(i).ServerRow)
	}
	for i := range l.windows {
		if w := &l.windows[i]; w.spec.Completed {
			d := w.done
			d.Sojourn = d.Sojourn.clone()
			s.Windows = append(s.Windows, d)
		}
	}
	return s
}

// Merge takes the server's view from s: totals, latencies, peaks and gauges
// replace those of the snapshot before it, rows replace or follow those with the
// same second. So polling each second and once at the end gives exact totals,
// and merging one snapshot twice is the same as once. A poll asks for rows from
// the last one it has, or a little before, as late events still change it.
//
// The error says what in s cannot be; then nothing has changed.
func (l *Ledger) Merge(s Snapshot) error {
	if l.instance != "" && s.Instance != l.instance {
		return fmt.Errorf("%w: instance %q, was %q", ErrInstance, s.Instance, l.instance)
	}
	if s.Events < l.events {
		return fmt.Errorf("%w: %d events, had %d", ErrOld, s.Events, l.events)
	}
	if err := s.check(l); err != nil {
		return fmt.Errorf("merge snapshot: %w", err)
	}
	served, err := s.Served.adopt(l.unit)
	if err != nil {
		return fmt.Errorf("merge snapshot: served: %w", err)
	}
	shed, err := s.ShedWait.adopt(l.unit)
	if err != nil {
		return fmt.Errorf("merge snapshot: shed_wait: %w", err)
	}
	done, err := s.adoptWindows(l)
	if err != nil {
		return fmt.Errorf("merge snapshot: %w", err)
	}
	l.served, l.shed = served, shed
	for i := range l.windows {
		if w := &l.windows[i]; w.spec.Completed {
			w.done, done = done[0], done[1:]
		}
	}
	copy(l.server, s.Totals)
	l.rows.take(s.From, s.Rows)
	l.mergedTo = max(l.mergedTo, s.From+len(s.Rows))
	l.place = places{door: s.Door, queued: s.Queued, inService: s.InService, peak: s.PeakQueue}
	l.peakArrived, l.events, l.instance, l.held = s.PeakRate, s.Events, s.Instance, s.Held
	return nil
}
