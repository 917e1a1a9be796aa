package ledger

// trial is one of the two cases that evidence is judged in.
type trial struct {
	*evidence
	n     int     // rows judged
	room  float64 // what is asked for counts up to this per row; 0 = all of it
	good  []int64 // sums of what was delivered and asked for over the rows before each
	asked []int64

	up          bool
	wasDown     bool // in the trigger or at its end
	fell        int  // rows of the last fall and return, firstReturn the first; -1 for none
	returned    int
	firstReturn int
	falls       int
	hiccups     int  // outages after the trigger that were short
	longOutage  bool // one that was not
}

func newTrial(e *evidence, n int, room float64, column func(*Row) int64) *trial {
	t := &trial{evidence: e, n: n, room: room, good: make([]int64, n+1), asked: make([]int64, n+1)}
	for i := range n {
		t.good[i+1] = t.good[i] + column(&e.rows[i])
		t.asked[i+1] = t.asked[i] + e.rows[i].Requests
	}
	return t
}

// level returns what was delivered in rows [a, b) as a share of what was asked
// for; false if nothing was.
func (t *trial) level(a, b int) (float64, bool) {
	asked := float64(t.asked[b] - t.asked[a])
	if t.room > 0 {
		asked = min(asked, t.room*float64(b-a))
	}
	if asked <= 0 {
		return 0, false
	}
	return float64(t.good[b]-t.good[a]) / asked, true
}

// reaches reports whether rows [a, b) are at a level of at least want.
func (t *trial) reaches(a, b int, want float64) bool {
	level, ok := t.level(a, b)
	return ok && level >= want
}

// walk goes through all windows. Those that start in the trigger lie inside it,
// so that catching up after it cannot hide the fall in it.
func (t *trial) walk() {
	t.up, t.fell, t.returned, t.firstReturn = true, -1, -1, -1
	if t.to > t.from && t.to-t.from < t.window {
		t.see(t.from, t.to)
	}
	for a := t.from; a+t.window <= t.to; a++ {
		t.see(a, a+t.window)
	}
	for a := t.to; a+t.window <= t.n; a++ {
		t.see(a, a+t.window)
	}
	if !t.wasDown {
		t.firstReturn = t.to
	}
}

// see takes note of the window [a, b).
func (t *trial) see(a, b int) {
	level, ok := t.level(a, b)
	switch {
	case !ok:
	case t.up && level < downBelow:
		t.up = false
		t.falls++
		t.fell = max(t.first(a, b, func(l float64) bool { return l < downBelow }), t.to)
		if t.fell == t.to {
			t.wasDown = true
		}
	case !t.up && level >= backAt && a >= t.to:
		t.up = true
		t.returned = t.first(a, b, func(l float64) bool { return l >= backAt })
		if t.firstReturn < 0 {
			t.firstReturn = t.returned
		}
		if t.fell > t.to {
			t.outage(t.returned - t.fell)
		}
	}
}

func (t *trial) outage(rows int) {
	if rows >= t.hold {
		t.longOutage = true
	} else {
		t.hiccups++
	}
}

// first returns the first row of [a, b) whose own level is such, or a.
func (t *trial) first(a, b int, such func(float64) bool) int {
	for i := a; i < b; i++ {
		if level, ok := t.level(i, i+1); ok && such(level) {
			return i
		}
	}
	return a
}

// relapses counts the falls after the first return.
func (t *trial) relapses() int {
	if t.wasDown {
		return t.falls - 1
	}
	return t.falls
}

// finding is the outcome of a trial.
type finding struct {
	verdict string
	after   *float64
	course  Course
	judged  int // the row from which on the verdict looked
}

func (t *trial) verdict() finding {
	switch {
	case !t.sound:
		return finding{verdict: Undecided, course: Course{Why: WhyNoBaseline}}
	case t.n-t.to < t.window:
		return finding{verdict: Undecided, course: Course{Why: WhyTooEarly}, judged: min(t.to, t.n)}
	}
	t.walk()
	f := finding{course: Course{
		Up: t.up, DownInTrigger: t.trigger && t.wasDown, FellS: float64(max(t.fell, 0)), Relapses: t.relapses(), Hiccups: t.hiccups,
	}}
	if from, ok := t.back(); ok {
		f.verdict, f.judged = Steady, t.firstReturn
		if t.wasDown || t.longOutage {
			f.verdict, f.judged = Recovered, from
			if t.trigger {
				after := float64(from - t.to)
				f.after = &after
			}
		}
		return f
	}
	since := max(t.to, t.fell, t.returned)
	f.judged = since + (t.n-since+1)/2
	if t.relapses() >= oscillating {
		since, f.judged = t.firstReturn, t.firstReturn
	}
	switch {
	case t.n-since < t.hold:
		f.verdict, f.course.Why = Undecided, WhyTooEarly
	case t.workedOff(f.judged, t.n):
		f.verdict, f.course.Why = Undecided, WhyWorkedOff
	case !t.reaches(f.judged, t.n, halfLevel):
		f.verdict = Collapsed
	default:
		f.verdict = Degraded
	}
	return f
}

// back reports whether the service is up for good, and from which row on.
func (t *trial) back() (from int, ok bool) {
	if !t.up {
		return 0, false
	}
	last := max(t.returned, t.firstReturn)
	switch {
	case t.reaches(t.firstReturn, t.n, backAt):
		from = t.firstReturn
	case t.relapses() < oscillating && t.reaches(last, t.n, backAt):
		from = last
	default:
		return 0, false
	}
	return from, from+t.window <= t.n
}
