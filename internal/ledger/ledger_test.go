package ledger

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"shedload/internal/work"
)

func TestHorizonClips(t *testing.T) {
	u := work.Unit{Attempt: 1, Deadline: work.Never}
	l := tell(Config{Horizon: second}, []Event{
		{At: second - 1, Kind: Wished, Unit: u},
		{At: second - 1, Kind: Sent, Unit: u},
		{At: second - 1, Kind: Arrived, Unit: u},
		{At: second, Kind: Queued, Unit: u},
		{At: second, Kind: Arrived, Unit: u},
		{At: second, Kind: Sampled, Took: time.Millisecond},
		{At: second, Kind: Ended, End: EndUnfinished, Unit: u},
		{At: second, Kind: Ended, End: EndSucceeded, Unit: u},
		{At: 2 * second, Kind: Sampled, Took: time.Hour},
	})
	s := l.Summary(Meta{Horizon: time.Second})
	equal(t, "attempts", s.Attempts.Total, int64(1))
	equal(t, "unfinished", s.Attempts.Unfinished, int64(1))
	equal(t, "requests", s.Requests, Requests{Total: 1, Unfinished: 1})
	equal(t, "tries", l.Totals().Tries, int64(1))
	rows := l.Rows(0)
	equal(t, "rows", len(rows), 1)
	equal(t, "oldest", rows[0].OldestAge, time.Millisecond)
}

// TestLateEventsCountInTheirOwnRow: also gauges of the rows since then change.
func TestLateEventsCountInTheirOwnRow(t *testing.T) {
	u := work.Unit{ID: 1, Attempt: 1}
	l := tell(Config{}, []Event{
		{At: 900 * ms, Kind: Arrived, Unit: u},
		{At: 2100 * ms, Kind: Wished, Unit: u},
		{At: 950 * ms, Kind: Queued, Unit: u},
		{At: second, Kind: Sampled, Took: time.Millisecond, Busy: 3},
		{At: 1500 * ms, Kind: Started, Unit: u},
		{At: -5 * ms, Kind: Refused, Unit: work.Unit{}},
	})
	rows := l.Rows(0)
	equal(t, "rows", len(rows), 3)
	var got [3][4]int64
	for i, r := range rows {
		got[i] = [4]int64{r.Arrived, r.Queue, r.InService, r.Busy}
	}
	equal(t, "arrived, queue, in service, busy", got, [3][4]int64{{1, 1, 0, 3}, {0, 0, 1, 3}, {0, 0, 1, 3}})
	equal(t, "before the start", rows[0].Refused, int64(1))
}

func TestRingKeepsTheNewest(t *testing.T) {
	l := New(Config{Rows: 3})
	for i := range 10 {
		l.Record(Event{At: work.Instant(i) * second, Kind: Arrived, Unit: work.Unit{Attempt: 1}})
	}
	l.Record(Event{At: 2 * second, Kind: Arrived}) // too old for a row
	rows := l.Rows(0)
	equal(t, "rows", len(rows), 3)
	equal(t, "first", [3]int{rows[0].T, rows[1].T, rows[2].T}, [3]int{7, 8, 9})
	equal(t, "total", l.Totals().Arrived, int64(11))
	l.Record(Event{At: math.MaxInt64 - 1, Kind: Queued})
	rows = l.Rows(0)
	equal(t, "after a leap", rows[2].T, int((math.MaxInt64-1)/second))
	equal(t, "queue is carried", rows[2].Queue, int64(1))
	if _, ok := l.Row(9); ok {
		t.Error("row 9 is still there")
	}
}

// TestPeakQueueIsWhatLasted: units that come and go at one instant are no queue.
func TestPeakQueueIsWhatLasted(t *testing.T) {
	var events []Event
	add := func(at work.Instant, kinds ...Kind) {
		for _, k := range kinds {
			events = append(events, Event{At: at, Kind: k})
		}
	}
	add(1, Arrived, Queued, Started)
	add(2, Arrived, Queued, Arrived, Queued, Arrived, Queued, Started)
	add(3, Started)
	l := tell(Config{}, events)
	equal(t, "peak", l.PeakQueue(), int64(2))
	l.Record(Event{At: 4, Kind: Queued})
	l.Record(Event{At: 4, Kind: Queued})
	equal(t, "peak with what is there now", l.PeakQueue(), int64(3))
}

func TestWindows(t *testing.T) {
	c := Config{Classes: twoClasses, Resolution: time.Millisecond, Windows: []WindowSpec{
		{Name: "early", To: 300 * time.Millisecond},
		{Name: "rest", From: 300 * time.Millisecond, To: 2 * time.Second},
		{Name: "done", From: time.Second, To: 1200 * time.Millisecond, Completed: true},
	}}
	s := tell(c, story()).Summary(Meta{Horizon: 2 * time.Second})
	early, rest, done := s.Windows[0], s.Windows[1], s.Windows[2]
	equal(t, "early", [3]any{early.Requests, early.Succeeded, early.TriesPerRequest}, [3]any{int64(2), int64(2), 1.5})
	equal(t, "early critical", early.Classes["critical"], WindowClass{Requests: 1, Succeeded: 1, TriesPerRequest: 1})
	equal(t, "early other", early.Classes["other"], WindowClass{Requests: 1, Succeeded: 1, TriesPerRequest: 2})
	equal(t, "rest", [3]any{rest.Requests, rest.Succeeded, rest.TriesPerRequest}, [3]any{int64(3), int64(0), 1.0 / 3})
	equal(t, "done", done.Completed, Completed{Late: 1, SojournMS: Quantiles{900, 900, 900}})
}

// TestResolution: whole milliseconds are rounded half up, and from 2048 ms on a
// percentile is the top of a bucket of 2 ms.
func TestResolution(t *testing.T) {
	for _, c := range []struct {
		unit, d time.Duration
		want    float64
	}{
		{time.Millisecond, 1499999 * time.Nanosecond, 1},
		{time.Millisecond, 1500 * time.Microsecond, 2},
		{time.Millisecond, 2480 * time.Millisecond, 2481},
		{time.Microsecond, 1499 * time.Nanosecond, 0.001},
		{time.Microsecond, 1500 * time.Nanosecond, 0.002},
		{time.Microsecond, -time.Second, 0},
	} {
		h := newHistogram(c.unit)
		h.record(c.d, 1)
		equal(t, c.d.String(), h.Quantiles(), Quantiles{c.want, c.want, c.want})
	}
	h := newHistogram(time.Microsecond)
	h.record(100*time.Hour, 1)
	if got := h.Quantiles().Max; got < 3600e3 || got > 3601e3 {
		t.Errorf("more than an hour reads %v ms", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]Config{
		"classes":    {Classes: make([]string, 65)},
		"windows":    {Windows: make([]WindowSpec, MaxWindows+1)},
		"rows":       {Rows: -1},
		"horizon":    {Horizon: -1},
		"resolution": {Resolution: time.Nanosecond},
		"window":     {Windows: []WindowSpec{{Name: "w", From: 2, To: 2}}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", want, err)
		}
	}
	equal(t, "default rows", Config{}.rows(), 3600)
	equal(t, "rows of a horizon", Config{Horizon: 90*second + 1}.rows(), 91)
}

// TestPercentileRanks: the rank at a percentile is rounded half up in whole numbers.
func TestPercentileRanks(t *testing.T) {
	for _, c := range []struct{ n, p50, p99 int64 }{{1, 1, 1}, {2, 1, 2}, {3, 2, 3}, {50, 25, 50}, {100, 50, 99}, {149, 75, 148}, {150, 75, 149}, {151, 76, 149}, {1000, 500, 990}, {1250, 625, 1238}} {
		h := newHistogram(time.Millisecond)
		for v := range c.n {
			h.record(time.Duration(v+1)*time.Millisecond, 1)
		}
		equal(t, fmt.Sprint("median of ", c.n), h.percentile(50), c.p50)
		equal(t, fmt.Sprint("p99 of ", c.n), h.percentile(99), c.p99)
	}
}
