package ledger

import (
	"math"
	"time"
)

// Judge gives the verdict on a run, for goodput and for users.
//
// What was asked for is the new requests, but never more than 110 % of the
// baseline; the level is what was delivered divided by that (for users: the
// share of requests whose first attempt succeeded). A service is down from the
// first window of five patiences below 80 % until a window reaches 95 % again,
// and N counts to the first second of that window which is itself at 95 %. The
// verdict is the state at the end, once it has lasted long enough to be believed.
//
// Weak spots: a service that stands near a threshold flips between seeds, so
// repeat them and report the share; under 20 requests a second, a true level of
// 80 to 95 % can read recovered; slow drains and long cycles may stay undecided;
// a return in the last few seconds still reads collapsed; an outage after the
// trigger that is shorter than ten units reads steady, with a hiccup counted.
//
// It needs from each row Requests, GoodputClient, FirstOK, Throughput, Offered
// and Queue. The rows start with second 0; if they start later, the baseline is
// taken from what there is.
func Judge(rows Rows, c VerdictConfig) Recovery {
	if len(rows) > 0 && rows[0].T > 0 {
		shift := time.Duration(rows[0].T) * time.Second
		c.Trigger.From = max(c.Trigger.From-shift, 0)
		c.Trigger.To = max(c.Trigger.To-shift, 0)
	}
	e := newEvidence(rows, c)
	goodput, users := e.goodput(), e.users()
	g, u := goodput.verdict(), users.verdict()
	r := Recovery{
		Verdict: g.verdict, UsersVerdict: u.verdict, GoodputAfterS: g.after, UsersAfterS: u.after,
		BaselinePerS: e.baseline, Goodput: g.course, Users: u.course, Aftermath: e.after(g.judged, goodput.n),
	}
	if e.trigger {
		end := c.Trigger.To.Seconds()
		r.TriggerEndS, r.Trigger = &end, "trigger"
		if c.Trigger.Name != "" {
			r.Trigger = c.Trigger.Name
		}
	}
	return r
}

// evidence is what both verdicts stand on.
type evidence struct {
	c        VerdictConfig
	rows     Rows
	trigger  bool
	from, to int     // rows of the trigger; 0, 0 without one
	n        int     // rows up to the last with a new request
	baseline float64 // good answers per second
	room     float64 // what is asked for counts up to this per second
	sound    bool
	window   int // rows
	hold     int // rows
}

func newEvidence(rows Rows, c VerdictConfig) *evidence {
	e := &evidence{c: c, rows: rows, trigger: c.Trigger.To > c.Trigger.From}
	for i := range rows {
		if rows[i].Requests > 0 {
			e.n = i + 1
		}
	}
	if e.trigger {
		e.from, e.to = int(c.Trigger.From/time.Second), rowsOf(c.Trigger.To.Seconds())
	}
	e.measureBaseline()
	unit := c.Patience.Seconds()
	if e.baseline > 0 {
		unit = max(unit, fewRequests/e.baseline)
	}
	window, hold := windowUnits*unit, holdUnits*unit
	if c.Window > 0 {
		window, hold = c.Window.Seconds(), holdUnits/windowUnits*c.Window.Seconds()
	}
	e.window, e.hold = max(rowsOf(window), 1), max(rowsOf(hold), 1)
	e.room = e.baseline
	if e.trigger {
		noise := c.Noise
		if noise == 0 {
			noise = noiseRoom
		}
		e.room = e.baseline * (1 + noise)
	}
	return e
}

// rowsOf rounds seconds up to rows, forgiving what binary fractions add; what
// no run can be as long as is cut.
func rowsOf(seconds float64) int {
	return int(math.Ceil(min(seconds, 2*MaxRows) - 1e-9))
}

// measureBaseline sets the goodput per second that the service is compared with.
func (e *evidence) measureBaseline() {
	patience := e.c.Patience.Seconds()
	a, b := rowsOf(patience), e.n
	if e.trigger {
		b = min(e.from, e.n)
		a = rowsOf(min(patience, float64(b)/2))
		if a >= b { // the trigger comes in the second second: all that is before it must do
			a = 0
		}
	}
	asked := e.mean(a, b, func(r *Row) int64 { return r.Requests })
	good := func(r *Row) int64 { return r.GoodputClient }
	switch {
	case e.c.Reference > 0:
		e.baseline = e.c.Reference
	case e.trigger:
		e.baseline = e.mean(a, b, good)
	default:
		best, w := 0.0, max(rowsOf(windowUnits*patience), 1)
		for i := a; i == a || i+w <= b; i++ {
			best = max(best, e.mean(i, min(i+w, b), good))
		}
		e.baseline = min(asked, best)
	}
	e.sound = e.baseline > 0 && e.baseline >= halfLevel*asked
}

// mean returns the mean of a column over the rows [a, b); 0 for none.
func (e *evidence) mean(a, b int, column func(*Row) int64) float64 {
	if b <= a {
		return 0
	}
	return float64(e.sum(a, b, column)) / float64(b-a)
}

func (e *evidence) sum(a, b int, column func(*Row) int64) int64 {
	var sum int64
	for i := a; i < b; i++ {
		sum += column(&e.rows[i])
	}
	return sum
}

// goodput returns the case of the answers that came in time.
func (e *evidence) goodput() *trial {
	return newTrial(e, e.n, e.room, func(r *Row) int64 { return r.GoodputClient })
}

// users returns the case of the requests that succeed at once. Those of the last
// patience of the run cannot have been answered yet.
func (e *evidence) users() *trial {
	n := min(e.n, len(e.rows)-rowsOf(e.c.Patience.Seconds()))
	return newTrial(e, max(n, 0), 0, func(r *Row) int64 { return r.FirstOK })
}

// workedOff reports whether in rows [a, n) a backlog was being worked off: more
// good answers than new requests, or dead work that drains.
func (e *evidence) workedOff(a, n int) bool {
	asked := e.sum(a, n, func(r *Row) int64 { return r.Requests })
	good := e.sum(a, n, func(r *Row) int64 { return r.GoodputClient })
	if float64(good) > gainOver*float64(asked) {
		return true
	}
	if e.c.NoServer {
		return false
	}
	offered := e.sum(a, n, func(r *Row) int64 { return r.Offered })
	finished := e.sum(a, n, func(r *Row) int64 { return r.Throughput })
	if float64(finished) <= gainOver*float64(offered) {
		return false
	}
	for i := e.to; i < a; i++ {
		if e.rows[i].Queue <= e.rows[n-1].Queue {
			return false
		}
	}
	return true
}

// after describes the rows [a, n).
func (e *evidence) after(a, n int) After {
	out := After{FromS: float64(a), ToS: float64(n)}
	if a >= n {
		return out
	}
	out.RequestsPerS = e.mean(a, n, func(r *Row) int64 { return r.Requests })
	out.OfferedPerS = e.mean(a, n, func(r *Row) int64 { return r.Offered })
	out.ThroughputPS = e.mean(a, n, func(r *Row) int64 { return r.Throughput })
	out.GoodputPerS = e.mean(a, n, func(r *Row) int64 { return r.GoodputClient })
	out.Queue = e.rows[n-1].Queue
	out.QueueFallPerS = ratio(e.rows[a].Queue-out.Queue, int64(n-1-a))
	return out
}
