package ledger

import (
	"time"

	"shedload/internal/work"
)

// window is one WindowSpec being counted.
type window struct {
	spec     WindowSpec
	from, to work.Instant
	classes  []windowCounts
	done     WindowDone
}

// windowCounts are the requests of one class that started in a window: the client's view.
type windowCounts struct{ requests, succeeded, tries int64 }

// WindowDone are the units that finished in a window: the server's view.
type WindowDone struct {
	OnTime  int64      `json:"on_time"`
	Late    int64      `json:"late"`
	Sojourn *Histogram `json:"sojourn"`
}

func newWindow(s WindowSpec, classes int, unit time.Duration) window {
	w := window{spec: s, from: work.Instant(s.From), to: work.Instant(s.To)}
	if s.Completed {
		w.done.Sojourn = newHistogram(unit)
	} else {
		w.classes = make([]windowCounts, classes)
	}
	return w
}

func (w *window) holds(t work.Instant) bool { return t >= w.from && t < w.to }

func (w *window) wished(start work.Instant, class int, n int64) {
	if !w.spec.Completed && w.holds(start) {
		w.classes[class].requests += n
	}
}

func (w *window) ended(e *Event, class int, n int64) {
	if w.spec.Completed || !w.holds(e.Start) {
		return
	}
	c := &w.classes[class]
	c.tries += n * int64(e.Unit.Attempt)
	if e.End == EndSucceeded {
		c.succeeded += n
	}
}

func (w *window) finished(at work.Instant, sojourn time.Duration, late bool, n int64) {
	if !w.spec.Completed || !w.holds(at) {
		return
	}
	if late {
		w.done.Late += n
	} else {
		w.done.OnTime += n
	}
	w.done.Sojourn.record(sojourn, n)
}

// summary returns the window in its published form.
func (w *window) summary(names []string) Window {
	out := Window{Name: w.spec.Name, FromS: w.spec.From.Seconds(), ToS: w.spec.To.Seconds(), Classes: map[string]WindowClass{}}
	var all windowCounts
	for i, c := range w.classes {
		all.requests += c.requests
		all.succeeded += c.succeeded
		all.tries += c.tries
		if i < len(names) {
			out.Classes[names[i]] = WindowClass{c.requests, c.succeeded, ratio(c.tries, c.requests)}
		}
	}
	out.Requests, out.Succeeded, out.TriesPerRequest = all.requests, all.succeeded, ratio(all.tries, all.requests)
	if w.spec.Completed {
		out.Completed = Completed{OnTime: w.done.OnTime, Late: w.done.Late, SojournMS: w.done.Sojourn.Quantiles()}
	}
	return out
}

// ratio returns a / b as a finite number: 0 when there is nothing to divide by.
func ratio[T int64 | time.Duration](a, b T) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
