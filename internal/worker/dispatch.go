package worker

import (
	"time"

	"shedload/internal/work"
)

// report is what the server is told of a job.
type report struct {
	lease string
	ok    bool
	took  time.Duration // from start to end
	late  bool
}

// maxSleep bounds a sleep that nothing is due to end.
const maxSleep = time.Hour

// dispatch is the dispatcher: it ends jobs at their time and sends requests.
func (w *Worker) dispatch(s Sleeper) {
	w.mu.Lock()
	w.sleeper = s
	w.mu.Unlock()
	for {
		now := w.config.Clock()
		next, more := w.step(now)
		if !more {
			return
		}
		s.Sleep(min(next.Sub(now), maxSleep))
	}
}

// step does all that is due now and says when the next thing will be; false
// when the worker is through.
func (w *Worker) step(now work.Instant) (next work.Instant, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endJobsLocked(now)
	if w.closing && (w.throughLocked() || now >= w.giveUp) {
		w.sleeper = nil // it ends with the dispatcher; nobody may wake it any more
		return 0, false
	}
	for w.sendTimeLocked(now) <= now {
		w.sendLocked(now)
	}
	w.until = w.nextLocked(now)
	return w.until, true
}

// endJobsLocked turns jobs whose time is over into reports.
func (w *Worker) endJobsLocked(now work.Instant) {
	for w.running.next() <= now {
		j := w.running.pop()
		// A pause that was added meanwhile stretches the job.
		if j.end = w.model.End(j.from, j.took); j.end > now {
			w.running.push(j)
			continue
		}
		w.endLocked(j, now)
	}
}

func (w *Worker) endLocked(j job, now work.Instant) {
	r := report{lease: j.lease, ok: true, took: now.Sub(j.start), late: now > j.deadline}
	w.reports = append(w.reports, r)
	w.model.Leave(j.class)
	w.numbers.Busy--
	w.numbers.Finished++
	w.numbers.WorkTime += r.took
	if r.late {
		w.numbers.Late++
		w.numbers.Wasted += r.took
	}
}

// throughLocked reports whether nothing is left to do or to say.
func (w *Worker) throughLocked() bool {
	return w.left && w.open == 0 && w.numbers.Busy == 0 && len(w.reports) == 0
}

// sendTimeLocked is when the next request is to leave. Requests are spaced, so
// that what ends at about the same time travels together; one that is full does
// not wait, and none leaves before a backoff is over.
func (w *Worker) sendTimeLocked(now work.Instant) work.Instant {
	reports, want := len(w.reports), w.wantLocked(now)
	switch {
	case reports >= maxBatch || want >= maxBatch:
		return w.retryAt
	case reports > 0 || want > 0 || (w.closing && !w.left):
		return max(w.sendAt, w.retryAt)
	default:
		return work.Never
	}
}

// wantLocked is how many workers are idle and not asked for yet.
func (w *Worker) wantLocked(now work.Instant) int {
	if w.closing {
		return 0
	}
	return max(0, w.model.Capacity(w.config.Workers, now)-w.numbers.Busy-w.asked)
}

func (w *Worker) nextLocked(now work.Instant) work.Instant {
	next := min(w.running.next(), w.model.NextChange(now), w.sendTimeLocked(now))
	if w.closing {
		next = min(next, w.giveUp)
	}
	return next
}

// wakeLocked wakes the dispatcher if something is due before it means to wake.
func (w *Worker) wakeLocked() {
	now := w.config.Clock()
	if w.sleeper != nil && (w.nextLocked(now) < w.until || (w.closing && w.throughLocked())) {
		w.sleeper.Wake()
		w.until = 0 // it comes; nobody need wake it again
	}
}

// sendLocked starts a request with the reports that wait, asking for work for
// the idle workers, as far as fits.
func (w *Worker) sendLocked(now work.Instant) {
	n := min(len(w.reports), maxBatch)
	x := exchange{reports: w.reports[:n:n], want: min(w.wantLocked(now), maxBatch), leave: w.closing && !w.left, sent: now}
	w.reports = w.reports[n:]
	if len(w.reports) == 0 {
		w.reports = nil // its memory belongs to the requests now
	}
	w.left = w.left || x.leave
	w.asked += x.want
	w.open++
	w.sendAt = now.Add(batch)
	w.exchanges.Go(func() { w.run(x) })
}
