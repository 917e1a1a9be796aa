package retry

import (
	"shedload/internal/draw"
	"shedload/internal/work"
)

// throttle is client-side throttling by the formula of "Site Reliability
// Engineering", chapter 21: a try is rejected with probability
// max(0, (requests - K·accepts) / (requests + 1)). Requests are all tries of the
// window, those that it rejected included; accepts are those that the server took
// on and answered, well or badly, within patience.
type throttle struct {
	k      Thousandths
	counts window
}

// What a throttle's window counts.
const (
	asked = iota
	accepted
)

func newThrottle(g GateSpec) *throttle { return &throttle{k: *g.K, counts: newWindow(*g.Window)} }

// Allow throws the dice for a try that is about to be sent, first ones included.
func (t *throttle) Allow(now work.Instant, a Ask, rnd draw.Rand) bool {
	if a.When != Sent {
		return true
	}
	t.counts.roll(now)
	over, of := t.odds()
	t.counts.add(now, asked, 1)
	// Compared in whole numbers: the same answer on every machine.
	return int64(rnd.Below(uint64(of))) >= over
}

// Observe counts what the server accepted.
func (t *throttle) Observe(now work.Instant, a Ask, r work.Result) {
	if r.Outcome == work.Succeeded || r.Outcome == work.Failed {
		t.counts.add(now, accepted, 1)
	}
}

// odds returns the probability of a rejection as a fraction, both parts in thousandths.
func (t *throttle) odds() (over, of int64) {
	n := t.counts.sum[asked]
	return n*int64(One) - int64(t.k)*t.counts.sum[accepted], (n + 1) * int64(One)
}

func (t *throttle) gauge(g *Gauges) {
	t.counts.roll(g.At)
	over, of := t.odds()
	g.Throttle = max(g.Throttle, float64(over)/float64(of))
}
