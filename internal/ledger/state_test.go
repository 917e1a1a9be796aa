package ledger

import (
	"testing"
	"time"

	"shedload/internal/work"
)

// second of a state test: new requests, goodput, throughput, offered, queue.
type sec struct{ requests, good, done, offered, queue int64 }

func steadyFor(n int, s sec) []sec {
	out := make([]sec, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func TestState(t *testing.T) {
	well := sec{60, 60, 60, 60, 2}
	for _, c := range []struct {
		name     string
		secs     []sec
		baseline float64
		want     string
	}{
		{"nothing seen", nil, 0, Healthy},
		{"nothing asked for", steadyFor(10, sec{}), 0, Healthy},
		{"well", steadyFor(10, well), 0, Healthy},
		{"79 % is not well", steadyFor(10, sec{100, 79, 79, 100, 0}), 0, Overloaded},
		{"80 % is", steadyFor(10, sec{100, 80, 80, 100, 0}), 0, Healthy},
		{"first seconds of a spike", append(steadyFor(7, well), steadyFor(3, sec{400, 80, 80, 400, 900})...), 0, Overloaded},
		{"all work is wanted, not all is done", steadyFor(10, sec{400, 80, 80, 3000, 3000}), 0, Overloaded},
		{"spike with a known baseline", steadyFor(10, sec{400, 80, 80, 3000, 3000}), 60, Overloaded},
		{"all work is in vain", steadyFor(10, sec{60, 0, 80, 6000, 99999}), 0, Down},
		{"nothing is done", steadyFor(10, sec{60, 0, 0, 60, 600}), 0, Down},
		{"a breaker that idles", steadyFor(10, sec{60, 20, 20, 20, 0}), 60, Down},
		{"just back", append(steadyFor(5, sec{60, 0, 80, 300, 900}), steadyFor(5, well)...), 0, Recovering},
		{"retries are worked off", steadyFor(10, sec{60, 80, 80, 3000, 900}), 0, Recovering},
		{"dead work drains", []sec{{60, 0, 80, 66, 900}, {60, 0, 80, 66, 880}, {60, 0, 80, 66, 860}}, 0, Recovering},
		{"only the newest ten count", append(steadyFor(50, sec{60, 0, 80, 60, 0}), steadyFor(10, well)...), 0, Healthy},
	} {
		var rows Rows
		for i, s := range c.secs {
			r := Row{T: i, Offered: s.offered}
			r.Requests, r.GoodputClient, r.Throughput, r.Queue = s.requests, s.good, s.done, s.queue
			rows = append(rows, r)
		}
		if got := State(rows, LiveState{Baseline: c.baseline}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestStateOfALedger: a server alone goes by its own view, and the second that is
// not over does not count.
func TestStateOfALedger(t *testing.T) {
	l := New(Config{})
	u := work.Unit{Attempt: 1, Deadline: work.Never}
	for i := range 300 {
		u.Enqueued = work.Instant(i) * 100 * ms
		for _, k := range []Kind{Arrived, Queued, Started} {
			l.Record(Event{At: u.Enqueued, Kind: k, Unit: u})
		}
		if i >= 150 {
			u.Deadline = u.Enqueued
		}
		l.Record(Event{At: u.Enqueued.Add(time.Millisecond), Kind: Finished, Unit: u})
	}
	equal(t, "before", l.State(15, 0), Healthy)
	equal(t, "after", l.State(29, 0), Down)
	equal(t, "far ahead", l.State(90, 0), Healthy)
}
