package ledger

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

var twoClasses = []string{"critical", "other"}

// TestConservationHolds counts random histories a second time, attempt by attempt.
func TestConservationHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawStream(t, 2)
		l := New(Config{Classes: twoClasses})
		last := map[uint64]Kind{} // of each attempt, Stale aside
		door := map[uint64]bool{}
		for _, e := range events {
			l.Record(e)
			if e.Kind < Wished && e.Kind != Sampled && e.Kind != Stale {
				last[e.Unit.ID], door[e.Unit.ID] = e.Kind, e.Door
			}
			checkPlaces(t, l, last)
		}
		sum := l.Summary(Meta{Horizon: 10 * time.Second})
		if !sum.Conservation.OK || sum.Conservation.ClientServerGap != 0 {
			t.Fatalf("conservation is %+v", sum.Conservation)
		}
		var all [2]int64
		for i, c := range []string{"critical", "other"} {
			all[0] += sum.Classes[c].Attempts.Total
			all[1] += sum.Classes[c].Requests.Total
			if got := l.ClassTotals(i).Arrived; got != sum.Classes[c].Attempts.Total {
				t.Fatalf("class %s: %d arrived, summary says %d", c, got, sum.Classes[c].Attempts.Total)
			}
		}
		a, r := sum.Attempts, sum.Requests
		parts := a.OnTime + a.Late + a.RefusedTotal + a.DroppedTotal + a.Failed + a.Canceled + a.Lost + a.Unfinished
		if a.Total != int64(len(last)) || a.Total != parts || a.Total != all[0] {
			t.Fatalf("%d attempts: total %d, parts %d, classes %d", len(last), a.Total, parts, all[0])
		}
		if r.Total != r.Succeeded+r.GaveUp+r.Throttled+r.Unfinished || r.Total != all[1] {
			t.Fatalf("requests %+v do not add up", r)
		}
	})
}

// checkPlaces compares the gauges with where each attempt was last seen.
func checkPlaces(t *rapid.T, l *Ledger, last map[uint64]Kind) {
	var want Gauges
	for _, kind := range last {
		switch kind {
		case Arrived:
			want.Door++
		case Queued:
			want.Queued++
		case Started:
			want.InService++
		}
	}
	if got := l.Gauges(); got != want || l.Pending() != want.Door+want.Queued+want.InService {
		t.Fatalf("gauges %+v, pending %d; want %+v", got, l.Pending(), want)
	}
}

// TestRowsSumToTotals: what rows count adds up to the totals, whatever is told late.
func TestRowsSumToTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(Config{Classes: twoClasses})
		for _, e := range drawStream(t, 2) {
			l.Record(e)
		}
		var sum Row
		rows := l.Rows(0)
		for i, r := range rows {
			if r.T != i {
				t.Fatalf("row %d is of second %d", i, r.T)
			}
			sum.Arrived += r.Arrived
			sum.First += r.First
			sum.Throughput += r.Throughput
			sum.Goodput += r.Goodput
			sum.Refused += r.Refused
			sum.Dropped += r.Dropped
			sum.Work += r.Work
			sum.Wasted += r.Wasted
			sum.Requests += r.Requests
			sum.Sent += r.Sent
			sum.GoodputClient += r.GoodputClient
			sum.Succeeded += r.Succeeded
			sum.GaveUp += r.GaveUp
		}
		c := l.Totals()
		want := Row{
			ServerRow: ServerRow{
				Arrived: c.Arrived, First: c.First, Throughput: c.Finished(), Goodput: c.OnTime,
				Refused: c.Refused.Sum(), Dropped: c.Dropped.Sum(), Work: c.Work, Wasted: c.Wasted,
			},
			ClientRow: ClientRow{
				Requests: c.Requests, Sent: c.Sent, GoodputClient: c.Answered[work.Succeeded], Succeeded: c.Ended[EndSucceeded],
				GaveUp: c.Ended[EndGaveUpAttempts] + c.Ended[EndGaveUpGate],
			},
		}
		if sum != want {
			t.Fatalf("rows sum to %+v, totals are %+v", sum, want)
		}
		if n := len(rows); n > 0 && (rows[n-1].Queue != l.Gauges().Queued || rows[n-1].InService != l.Gauges().InService) {
			t.Fatalf("the last row ends with %+v, gauges are %+v", rows[n-1], l.Gauges())
		}
	})
}

// TestMergeEqualsOneLedger: the server's events in one ledger and the clients' in
// another, joined by polling, are the same as all events in one.
func TestMergeEqualsOneLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Classes: twoClasses, Windows: []WindowSpec{
			{Name: "started", From: time.Second, To: 3 * time.Second},
			{Name: "finished", From: time.Second, To: 3 * time.Second, Completed: true},
		}}
		one, server, client := New(c), New(c), New(c)
		poll := func() {
			s := overTheWire(t, server.Snapshot(client.mergedTo-2))
			for range rapid.IntRange(1, 2).Draw(t, "times") { // again is the same as once
				if err := client.Merge(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, e := range drawStream(t, 2) {
			one.Record(e)
			if e.Kind < Wished {
				server.Record(e)
			} else {
				client.Record(e)
			}
			if rapid.IntRange(0, 19).Draw(t, "poll") == 0 {
				poll()
			}
		}
		poll()
		m := Meta{Horizon: 7 * time.Second, Verdict: VerdictConfig{Patience: time.Second, Trigger: Span{From: second2, To: 3 * time.Second}}}
		if got, want := asJSON(t, client.Summary(m)), asJSON(t, one.Summary(m)); got != want {
			t.Fatalf("joined:\n%s\nin one:\n%s", got, want)
		}
		if got, want := asJSON(t, client.Rows(0)), asJSON(t, one.Rows(0)); got != want {
			t.Fatalf("rows joined:\n%s\nin one:\n%s", got, want)
		}
		if client.Totals() != one.Totals() || client.Gauges() != one.Gauges() {
			t.Fatal("totals or gauges differ")
		}
	})
}

const second2 = 2 * time.Second

func overTheWire(t *rapid.T, s Snapshot) Snapshot {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Snapshot
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func asJSON(t *rapid.T, v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestJudgeIsTotal: any rows and any numbers give one of the verdicts, and finite figures.
func TestJudgeIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make(Rows, rapid.IntRange(0, 60).Draw(t, "rows"))
		count := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 100))
		for i := range rows {
			rows[i].T = i
			rows[i].Requests, rows[i].GoodputClient, rows[i].FirstOK = count.Draw(t, "new"), count.Draw(t, "good"), count.Draw(t, "first")
			rows[i].Throughput, rows[i].Offered, rows[i].Queue = count.Draw(t, "done"), count.Draw(t, "offered"), count.Draw(t, "queue")
		}
		length := rapid.Int64Range(0, int64(90*time.Second))
		c := VerdictConfig{
			Patience: time.Duration(length.Draw(t, "patience")) / 10,
			Trigger:  Span{From: time.Duration(length.Draw(t, "from")), To: time.Duration(length.Draw(t, "to"))},
			NoServer: rapid.Bool().Draw(t, "no server"),
		}
		r := Judge(rows, c)
		for _, v := range []string{r.Verdict, r.UsersVerdict} {
			switch v {
			case Steady, Recovered, Collapsed, Degraded, Undecided:
			default:
				t.Fatalf("verdict %q", v)
			}
		}
		if (r.GoodputAfterS != nil) != (r.Verdict == Recovered && r.TriggerEndS != nil) {
			t.Fatalf("%s after %v", r.Verdict, show(r.GoodputAfterS))
		}
		asJSON(t, r) // fails on a number that is not finite
		_ = State(rows, LiveState{})
		if s := (Summary{Recovery: r}).Sentence(); len(s) < 20 {
			t.Fatalf("sentence %q", s)
		}
	})
}
