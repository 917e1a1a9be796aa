package ledger

import (
	"testing"
	"time"
)

// stretch is some seconds that are alike; the queue starts at queue and changes by step.
type stretch struct{ n, requests, good, done, offered, queue, step int }

func lay(stretches ...stretch) Rows {
	var rows Rows
	for _, s := range stretches {
		for i := range s.n {
			r := Row{T: len(rows), Offered: int64(s.offered)}
			r.Requests, r.GoodputClient, r.FirstOK = int64(s.requests), int64(s.good), int64(s.good)
			r.Throughput, r.Queue = int64(s.done), int64(s.queue+i*s.step)
			rows = append(rows, r)
		}
	}
	return rows
}

// TestVerdictRules takes the words of the definition one by one. The trigger is
// [10, 15) and patience one second, so a window is 5 rows and a hold 10.
func TestVerdictRules(t *testing.T) {
	well := func(n int) stretch { return stretch{n, 20, 20, 20, 20, 0, 0} }
	down := func(n int) stretch { return stretch{n, 20, 0, 26, 80, 100, 54} }
	at := func(n, good int) stretch { return stretch{n, 20, good, 26, 80, 100, 0} }
	seconds := func(s float64) *float64 { return &s }
	for _, c := range []struct {
		name    string
		rows    Rows
		verdict string
		after   *float64
		course  Course
	}{
		{"nothing happens", lay(well(45)), Steady, nil, Course{Up: true}},
		{"down, and back after four seconds", lay(well(10), down(9), well(26)), Recovered, seconds(4),
			Course{Up: true, DownInTrigger: true, FellS: 15}},
		{"back too late to be seen", lay(well(10), down(31), well(4)), Collapsed, nil,
			Course{DownInTrigger: true, FellS: 15}},
		{"back at 90 % only", lay(well(10), down(9), at(26, 18)), Degraded, nil, Course{DownInTrigger: true, FellS: 15}},
		{"the second half decides: degraded", lay(well(10), down(25), at(20, 12)), Degraded, nil, Course{DownInTrigger: true, FellS: 15}},
		{"the second half decides: collapsed", lay(well(10), at(25, 12), down(20)), Collapsed, nil, Course{DownInTrigger: true, FellS: 15}},
		{"a hiccup", lay(well(25), down(6), well(30)), Steady, nil, Course{Up: true, FellS: 25, Relapses: 1, Hiccups: 1}},
		{"an outage of ten units", lay(well(25), down(10), well(60)), Recovered, seconds(20), Course{Up: true, FellS: 25, Relapses: 1}},
		{"an outage that hardly counts in the whole", lay(well(25), down(10), well(300)), Recovered, seconds(0),
			Course{Up: true, FellS: 25, Relapses: 1}},
		{"a fall just now", lay(well(25), down(9)), Undecided, nil, Course{Why: WhyTooEarly, FellS: 25, Relapses: 1}},
		{"aftermath shorter than a window", lay(well(19)), Undecided, nil, Course{Why: WhyTooEarly}},
		{"down before the trigger", lay(at(10, 9), down(30)), Undecided, nil, Course{Why: WhyNoBaseline}},
		{"dead work drains", lay(well(10), stretch{40, 20, 0, 26, 20, 500, -6}), Undecided, nil,
			Course{Why: WhyWorkedOff, DownInTrigger: true, FellS: 15}},
		{"dead work that does not get less", lay(well(10), stretch{40, 20, 0, 26, 20, 500, 0}), Collapsed, nil, Course{DownInTrigger: true, FellS: 15}},
		{"the queue falls, but more than that is offered", lay(well(10), stretch{40, 20, 0, 26, 25, 500, -1}), Collapsed, nil,
			Course{DownInTrigger: true, FellS: 15}},
		{"requests end", lay(well(10), down(9), well(26), stretch{20, 0, 0, 0, 0, 0, 0}), Recovered, seconds(4),
			Course{Up: true, DownInTrigger: true, FellS: 15}},
	} {
		r := Judge(c.rows, VerdictConfig{Patience: time.Second, Trigger: Span{From: 10 * time.Second, To: 15 * time.Second}})
		if r.Verdict != c.verdict || !same(r.GoodputAfterS, c.after) || r.Goodput != c.course {
			t.Errorf("%s: %s after %v, %+v\nwant %s after %v, %+v", c.name, r.Verdict, show(r.GoodputAfterS), r.Goodput, c.verdict, show(c.after), c.course)
		}
	}
}

func TestDrainNeedsAServer(t *testing.T) {
	rows := lay(stretch{10, 20, 20, 20, 20, 0, 0}, stretch{40, 20, 0, 26, 20, 500, -6})
	c := VerdictConfig{Patience: time.Second, Trigger: Span{From: 10 * time.Second, To: 15 * time.Second}, NoServer: true}
	equal(t, "verdict", Judge(rows, c).Verdict, Collapsed)
}

// TestBaseline: what the service did before the trigger, but for the first patience.
func TestBaseline(t *testing.T) {
	cold := lay(stretch{1, 20, 0, 0, 20, 0, 0}, stretch{19, 20, 20, 20, 20, 0, 0}, stretch{1, 60, 26, 26, 60, 0, 0})
	span := func(from, to time.Duration) Span { return Span{From: from * time.Second, To: to * time.Second} }
	for _, c := range []struct {
		name string
		rows Rows
		c    VerdictConfig
		want float64
	}{
		{"first patience left out", cold, VerdictConfig{Patience: time.Second, Trigger: span(10, 15)}, 20},
		{"half the time before the trigger", cold, VerdictConfig{Patience: 10 * time.Second, Trigger: span(2, 3)}, 20},
		{"the trigger comes in the second second", cold[1:], VerdictConfig{Patience: 500 * time.Millisecond, Trigger: span(2, 3)}, 20},
		{"given", cold, VerdictConfig{Patience: time.Second, Trigger: span(10, 15), Reference: 17}, 17},
		{"no trigger: no more than new requests", cold[:20], VerdictConfig{Patience: time.Second}, 20},
		{"no trigger: the best window", lay(stretch{10, 20, 12, 12, 20, 0, 0}, stretch{10, 20, 16, 16, 20, 0, 0}), VerdictConfig{Patience: time.Second}, 16},
		{"shorter than patience", cold[:3], VerdictConfig{Patience: 5 * time.Second}, 0},
	} {
		equal(t, c.name, Judge(c.rows, c.c).BaselinePerS, c.want)
	}
}

// TestUsersHaveNotBeenAnsweredYet: the last patience of a run says nothing about users.
func TestUsersHaveNotBeenAnsweredYet(t *testing.T) {
	rows := lay(stretch{55, 20, 20, 20, 20, 0, 0})
	for i := 52; i < 55; i++ {
		rows[i].FirstOK = 0
	}
	r := Judge(rows, VerdictConfig{Patience: 3 * time.Second, Trigger: Span{From: 10 * time.Second, To: 15 * time.Second}})
	equal(t, "users", r.UsersVerdict, Steady)
}

// TestTriggerCoversItsRows: rows that a trigger touches belong to it.
func TestTriggerCoversItsRows(t *testing.T) {
	rows := lay(stretch{10, 20, 20, 20, 20, 0, 0}, stretch{6, 20, 0, 20, 20, 0, 0}, stretch{30, 20, 20, 20, 20, 0, 0})
	r := Judge(rows, VerdictConfig{Patience: time.Second, Trigger: Span{Name: "pause", From: 10200 * time.Millisecond, To: 15300 * time.Millisecond}})
	equal(t, "after", *r.GoodputAfterS, 0.0)
	equal(t, "trigger", r.Trigger, "pause")
	equal(t, "end", *r.TriggerEndS, 15.3)
}

// TestOwnWindow: a window of one's own, and what few requests make of it.
func TestOwnWindow(t *testing.T) {
	for _, c := range []struct {
		c            VerdictConfig
		window, hold int
	}{
		{VerdictConfig{Patience: time.Second}, 5, 10},
		{VerdictConfig{Patience: 1500 * time.Millisecond}, 8, 15},
		{VerdictConfig{Patience: time.Second, Window: 8 * time.Second}, 8, 16},
		{VerdictConfig{Patience: 100 * time.Millisecond}, 3, 5}, // ten requests at 20/s: half a second
	} {
		e := newEvidence(lay(stretch{40, 20, 20, 20, 20, 0, 0}), c.c)
		equal(t, "window", [2]int{e.window, e.hold}, [2]int{c.window, c.hold})
	}
}
