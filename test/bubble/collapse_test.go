package bubble_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
)

// TestTheCollapseAndTheCure plays the short form of the published experiment, as
// the scenario has it, over HTTP. HTTP takes no time in a bubble, so that the
// figures are those of the simulator but for the order of what happens at one
// instant and for the worker's batching: a millisecond, of the fifty that work takes.
func TestTheCollapseAndTheCure(t *testing.T) {
	fifo, deadline := playLike(t, load(t, "fifo")), playLike(t, load(t, "deadline"))
	if fifo.Recovery.Verdict != ledger.Collapsed || deadline.Recovery.Verdict != ledger.Steady {
		t.Errorf("verdicts: fifo %s, deadline %s", fifo.Recovery.Verdict, deadline.Recovery.Verdict)
	}
	within(t, "throughput of fifo beside deadline", fifo.Throughput, deadline.Throughput, 0.02, 0)
	if fifo.GoodputShare > 0.22 || deadline.GoodputShare < 0.97 {
		t.Errorf("goodput share: fifo %.3f, deadline %.3f", fifo.GoodputShare, deadline.GoodputShare)
	}
	if ratio := float64(fifo.Peak.Queue) / float64(deadline.Peak.Queue); ratio < 10 {
		t.Errorf("the longest queues are %d and %d: a factor of %.1f", fifo.Peak.Queue, deadline.Peak.Queue, ratio)
	}
}

// TestEveryDiscipline plays the rest in a quarter of the size: in order of goodput,
// what serves the dead comes behind what serves the living.
func TestEveryDiscipline(t *testing.T) {
	dead := []scenario.Plan{
		load(t, "fifo", small...),
		load(t, "naive-deadline", small...),
		load(t, "deadline", append(small, "server.drop_margin=30ms")...),
	}
	living := []scenario.Plan{
		load(t, "lifo", small...),
		load(t, "deadline", append(small, "server.drop_margin=55ms")...),
		load(t, "deadline", append(small, "server.drop_margin=250ms")...),
		load(t, "fifo", append(small, "server.discipline=adaptive-lifo+controlled-delay")...),
	}
	for _, p := range dead {
		if s := playLike(t, p); s.GoodputShare > 0.30 {
			t.Errorf("%s with margin %v: goodput share %.3f", p.Server.Discipline, p.Server.DropMargin, s.GoodputShare)
		}
	}
	for _, p := range living {
		if s := playLike(t, p); s.GoodputShare < 0.97 {
			t.Errorf("%s with margin %v: goodput share %.3f", p.Server.Discipline, p.Server.DropMargin, s.GoodputShare)
		}
	}
}

// TestTheAutoMarginFindsThePlateau: nobody tells the server how long work takes.
func TestTheAutoMarginFindsThePlateau(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		service string
		workers string
	}{
		{50500 * time.Microsecond, "uniform:50ms,50.5ms", "1"},
		{100 * time.Millisecond, "uniform:90ms,100ms", "2"},
		{20 * time.Millisecond, "20ms", "1"},
	} {
		t.Run(c.service, func(t *testing.T) {
			p := load(t, "deadline", append(small, "server.drop_margin=auto", "backend.service_time="+c.service, "backend.workers="+c.workers)...)
			inBubble(t, p, func(s *system) {
				summary, _ := s.play(nil)
				conserved(t, summary)
				if summary.GoodputShare < 0.97 {
					t.Errorf("goodput share %.3f", summary.GoodputShare)
				}
				// p99 + max(5 ms, p99 - p50), and the millisecond of batching.
				if m := s.server.Gauges().Margin; m < c.took || m > c.took+12*time.Millisecond {
					t.Errorf("the margin in force is %v where work takes up to %v", m, c.took)
				}
			})
		})
	}
}

// TestASwitchCuresACollapse: the same queue, the same users, no restart; only
// the policy changes, in the middle of the collapse.
func TestASwitchCuresACollapse(t *testing.T) {
	const second = 14
	p := load(t, "fifo", append(small, "horizon=30s")...)
	inBubble(t, p, func(s *system) {
		var shown map[string]any
		summary, rows := s.play(map[int]func(){second: func() {
			s.call("PUT", "/v1/policy", json.RawMessage(`{"discipline":"deadline","drop_margin":"70ms"}`), &shown)
		}})
		conserved(t, summary)
		if shown["discipline"] != "fifo+deadline" || shown["drop_margin"] != "70ms" {
			t.Errorf("the server shows %v", shown)
		}
		before, after := sum(rows[9:second]), sum(rows[second+1:])
		if before.Throughput == 0 || before.GoodputClient*20 > before.Throughput {
			t.Errorf("before the switch: throughput %d, goodput %d: not a collapse", before.Throughput, before.GoodputClient)
		}
		if float64(after.GoodputClient) < 0.97*float64(after.Throughput) || after.GoodputClient < after.Requests {
			t.Errorf("after the switch: %d new requests, throughput %d, goodput %d", after.Requests, after.Throughput, after.GoodputClient)
		}
		if q := rows[second-1].Queue; q < 3000 {
			t.Errorf("%d are queued before the switch: there is little to cure", q)
		}
		if q := rows[second].Queue; q > 1000 {
			t.Errorf("%d are queued a second after the switch: the dead are still there", q)
		}
	})
}

// playLike plays p in a bubble and compares with virtual time.
func playLike(t *testing.T, p scenario.Plan) ledger.Summary {
	t.Helper()
	virtual, err := sim.Run(p)
	if err != nil {
		t.Fatal(err)
	}
	var got ledger.Summary
	inBubble(t, p, func(s *system) { got, _ = s.play(nil) })
	want := virtual.Summary
	t.Logf("%s, margin %v: attempts %d (virtual time %d), throughput %d (%d), goodput %d (%d), peak queue %d (%d)", p.Server.Discipline,
		p.Server.DropMargin, got.Attempts.Total, want.Attempts.Total, got.Throughput, want.Throughput, got.Goodput, want.Goodput, got.Peak.Queue, want.Peak.Queue)
	conserved(t, got)
	within(t, "requests", got.Requests.Total, want.Requests.Total, 0, 0)
	within(t, "attempts", got.Attempts.Total, want.Attempts.Total, 0.01, 5)
	within(t, "throughput", got.Throughput, want.Throughput, 0.02, 2)
	within(t, "goodput", got.Goodput, want.Goodput, 0.02, 5)
	within(t, "goodput at clients", got.GoodputClient, want.GoodputClient, 0.02, 5)
	within(t, "late", got.Attempts.Late, want.Attempts.Late, 0.02, 5)
	within(t, "dropped", got.Attempts.DroppedTotal, want.Attempts.DroppedTotal, 0.02, 5)
	within(t, "longest queue", got.Peak.Queue, want.Peak.Queue, 0.02, 5)
	if got.Recovery.Verdict != want.Recovery.Verdict {
		t.Errorf("verdict %s, in virtual time %s", got.Recovery.Verdict, want.Recovery.Verdict)
	}
	return got
}

// conserved checks that each attempt is in one place, that both sides agree but
// for what was on its way at the end, and that the load was delivered.
func conserved(t *testing.T, s ledger.Summary) {
	t.Helper()
	if c := s.Conservation; !c.OK || c.ClientServerGap > c.InFlight {
		t.Errorf("conservation: %+v", c)
	}
	a := s.Attempts
	if n := a.OnTime + a.Late + a.RefusedTotal + a.DroppedTotal + a.Failed + a.Canceled + a.Lost + a.Unfinished; n != a.Total {
		t.Errorf("%d attempts, and %d ends: %+v", a.Total, n, a)
	}
	r := s.Requests
	if n := r.Succeeded + r.GaveUp + r.Throttled + r.Unfinished; n != r.Total {
		t.Errorf("%d requests, and %d ends: %+v", r.Total, n, r)
	}
	if !s.Generator.Delivered {
		t.Errorf("the load was not delivered: %+v", s.Generator)
	}
}

func within(t *testing.T, what string, got, want int64, share, extra float64) {
	t.Helper()
	if math.Abs(float64(got-want)) > share*float64(want)+extra {
		t.Errorf("%s: %d, want %d within %g %% and %g", what, got, want, share*100, extra)
	}
}

// sum adds up rows.
func sum(rows ledger.Rows) ledger.Row {
	var total ledger.Row
	for _, r := range rows {
		total.Requests += r.Requests
		total.Throughput += r.Throughput
		total.Goodput += r.Goodput
		total.GoodputClient += r.GoodputClient
	}
	return total
}
