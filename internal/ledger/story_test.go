package ledger

import (
	"testing"
	"time"

	"shedload/internal/work"
)

// story is a run that can be checked by hand: two seconds, one worker, five
// requests of two classes.
func story() []Event {
	u := func(id, request uint64, attempt uint16, class uint8, at, deadline work.Instant) work.Unit {
		return work.Unit{ID: id, Request: request, Attempt: attempt, Class: class, Enqueued: at * ms, Deadline: deadline * ms}
	}
	a, b1, b2 := u(1, 1, 1, 0, 100, 600), u(2, 2, 1, 1, 200, 700), u(5, 2, 2, 1, 800, 1300)
	c, d := u(3, 3, 1, 1, 300, 800), u(4, 4, 1, 1, 350, 850)
	e := u(0, 5, 0, 0, 0, 0)
	return []Event{
		{At: 100 * ms, Kind: Wished, Unit: a},
		{At: 101 * ms, Kind: Sent, Took: time.Millisecond, Unit: a},
		{At: 100 * ms, Kind: Arrived, Unit: a},
		{At: 100 * ms, Kind: Queued, Unit: a},
		{At: 100 * ms, Kind: Started, Unit: a}, // at once: it was never queued
		{At: 200 * ms, Kind: Wished, Unit: b1},
		{At: 200 * ms, Kind: Sent, Unit: b1},
		{At: 200 * ms, Kind: Arrived, Unit: b1},
		{At: 200 * ms, Kind: Queued, Unit: b1},
		{At: 300 * ms, Kind: Wished, Unit: c},
		{At: 300 * ms, Kind: Sent, Unit: c},
		{At: 300 * ms, Kind: Arrived, Unit: c},
		{At: 300 * ms, Kind: Queued, Unit: c},
		{At: 350 * ms, Kind: Wished, Unit: d},
		{At: 470 * ms, Kind: Sent, Took: 120 * time.Millisecond, Unit: d}, // too late to be a fair send
		{At: 350 * ms, Kind: Arrived, Unit: d},
		{At: 352 * ms, Kind: Refused, Reason: work.QueueFull, Unit: d},
		{At: 352 * ms, Kind: Answered, Outcome: work.Refused, Reason: work.QueueFull, Unit: d},
		{At: 352 * ms, Kind: Ended, End: EndGaveUpAttempts, Start: 350 * ms, Unit: d},
		{At: 600 * ms, Kind: Finished, Took: 500 * time.Millisecond, Unit: a}, // exactly at the deadline: on time
		{At: 600 * ms, Kind: Answered, Outcome: work.Succeeded, Unit: a},
		{At: 600 * ms, Kind: Ended, End: EndSucceeded, Start: 100 * ms, Took: 500 * time.Millisecond, Unit: a},
		{At: 600 * ms, Kind: Started, Unit: b1},
		{At: 700 * ms, Kind: Answered, Outcome: work.TimedOut, Unit: b1},
		{At: 800 * ms, Kind: Sent, Unit: b2},
		{At: 800 * ms, Kind: Arrived, Unit: b2},
		{At: 800 * ms, Kind: Queued, Unit: b2},
		{At: 800 * ms, Kind: Answered, Outcome: work.TimedOut, Unit: c},
		{At: 900 * ms, Kind: Wished, Unit: e},
		{At: 900 * ms, Kind: Ended, End: EndThrottled, Start: 900 * ms, Unit: e},
		{At: 1000 * ms, Kind: Sampled, Took: 700 * time.Millisecond, Busy: 1},
		{At: 1100 * ms, Kind: Finished, Took: 500 * time.Millisecond, Unit: b1}, // late
		{At: 1100 * ms, Kind: Dropped, Reason: work.Expired, Unit: c},
		{At: 1100 * ms, Kind: Started, Unit: b2},
		{At: 1200 * ms, Kind: Finished, Took: 100 * time.Millisecond, Unit: b2},
		{At: 1200 * ms, Kind: Answered, Outcome: work.Succeeded, Unit: b2},
		{At: 1200 * ms, Kind: Ended, End: EndSucceeded, Start: 200 * ms, Took: time.Second, Unit: b2},
	}
}

func tell(c Config, events []Event) *Ledger {
	l := New(c)
	for _, e := range events {
		l.Record(e)
	}
	return l
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %+v, want %+v", what, got, want)
	}
}

func TestExactNumbersOfAStory(t *testing.T) {
	l := tell(Config{Classes: twoClasses}, story())
	s := l.Summary(Meta{Scenario: "story", Variant: "v", Engine: "sim", Horizon: 2 * time.Second})
	equal(t, "requests", s.Requests, Requests{Total: 5, Succeeded: 2, GaveUp: 1, Throttled: 1, Unfinished: 1})
	a := s.Attempts
	equal(t, "attempts", [7]int64{a.Total, a.OnTime, a.Late, a.RefusedTotal, a.DroppedTotal, a.Unfinished, a.Failed}, [7]int64{5, 2, 1, 1, 1, 0, 0})
	equal(t, "refused", a.Refused["queue_full"], int64(1))
	equal(t, "dropped", a.Dropped["expired"], int64(1))
	equal(t, "throughput, goodput", [3]int64{s.Throughput, s.Goodput, s.GoodputClient}, [3]int64{3, 2, 2})
	equal(t, "rates", [2]float64{s.ThroughputPS, s.GoodputPS}, [2]float64{1.5, 1})
	equal(t, "goodput share", s.GoodputShare, 2.0/3)
	equal(t, "amplification", s.Amplification, 1.0)
	equal(t, "work", [3]float64{s.WorkS, s.WastedWorkS, s.WastedShare}, [3]float64{1.1, 0.5, 0.5 / 1.1})
	equal(t, "peak", s.Peak, Peak{Queue: 2, OfferedPerS: 5})
	equal(t, "served", s.LatencyMS.Served, Quantiles{P50: 500.223, P99: 900.095, Max: 900.095})
	equal(t, "shed wait", s.LatencyMS.ShedWait, Quantiles{P50: 2, P99: 800.255, Max: 800.255})
	equal(t, "request", s.LatencyMS.Request, Quantiles{P50: 500.223, P99: 1000.447, Max: 1000.447})
	equal(t, "generator", [3]any{s.Generator.Sends, s.Generator.Missed, s.Generator.Delivered}, [3]any{int64(5), int64(1), false})
	equal(t, "conservation", s.Conservation, Conservation{OK: true, Held: -1})
	equal(t, "critical", s.Classes["critical"].Requests, Requests{Total: 2, Succeeded: 1, Throttled: 1})
	equal(t, "other", s.Classes["other"].Attempts.Late, int64(1))
	rows := l.Rows(0)
	equal(t, "rows", len(rows), 2)
	equal(t, "row 0", rows[0], Row{
		T: 0, Offered: 5,
		ServerRow: ServerRow{
			Arrived: 5, First: 4, Throughput: 1, Goodput: 1, Refused: 1, Work: 500 * time.Millisecond,
			Queue: 2, InService: 1, OldestAge: 700 * time.Millisecond, Busy: 1, Sampled: true,
		},
		ClientRow: ClientRow{Requests: 5, Sent: 5, GoodputClient: 1, TimedOut: 2, Succeeded: 1, GaveUp: 1, Throttled: 1, FirstOK: 1},
	})
	equal(t, "row 1", rows[1], Row{
		T: 1,
		ServerRow: ServerRow{
			Throughput: 2, Goodput: 1, Late: 1, Dropped: 1, Work: 600 * time.Millisecond, Wasted: 500 * time.Millisecond,
			OldestAge: 700 * time.Millisecond, Busy: 1,
		},
		ClientRow: ClientRow{GoodputClient: 1, Succeeded: 1},
	})
}
