package ledger

import (
	"encoding/json"
	"math"
	"os"
	"strings"
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

// TestSummaryHasTheFixedNames holds the JSON to the names that others rely on.
func TestSummaryHasTheFixedNames(t *testing.T) {
	text, err := os.ReadFile("testdata/summary-names.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	l := tell(Config{Classes: []string{"critical"}, Windows: []WindowSpec{{Name: "w", To: time.Second}}}, story())
	text, err = json.Marshal(l.Summary(Meta{Horizon: 2 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	contains(t, "", want, got)
}

// contains checks that got has all names of want, with values of the same kind.
func contains(t *testing.T, path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, not an object", path, got)
		}
		for name, v := range w {
			if _, ok := g[name]; !ok {
				t.Errorf("%s.%s is missing", path, name)
				continue
			}
			contains(t, path+"."+name, v, g[name])
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			t.Errorf("%s is %v, not a list of %d", path, got, len(w))
			return
		}
		for i := range w {
			contains(t, path+"[]", w[i], g[i])
		}
	case float64:
		if _, ok := got.(float64); !ok {
			t.Errorf("%s is %v, not a number", path, got)
		}
	}
}

// TestNothingIsFiniteToo: a ledger that saw nothing has no number that is not one.
func TestNothingIsFiniteToo(t *testing.T) {
	s := New(Config{}).Summary(Meta{})
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
	equal(t, "goodput share", s.GoodputShare, 0.0)
	equal(t, "verdict", s.Recovery.Verdict, Undecided)
	equal(t, "conservation", s.Conservation.OK, true)
	equal(t, "delivered", s.Generator.Delivered, true)
}

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
		h.record(c.d)
		equal(t, c.d.String(), h.Quantiles(), Quantiles{c.want, c.want, c.want})
	}
	h := newHistogram(time.Microsecond)
	h.record(100 * time.Hour)
	if got := h.Quantiles().Max; got < 3600e3 || got > 3601e3 {
		t.Errorf("more than an hour reads %v ms", got)
	}
}

func TestConservationSeesWhatIsWrong(t *testing.T) {
	u := work.Unit{ID: 1, Attempt: 1}
	arrive := []Event{{Kind: Sent, Unit: u}, {Kind: Arrived, Unit: u}, {Kind: Queued, Unit: u}}
	one, two := int64(1), int64(2)
	for _, c := range []struct {
		name   string
		events []Event
		meta   Meta
		want   Conservation
	}{
		{"fine", arrive, Meta{Held: &one}, Conservation{OK: true, Pending: 1, Held: 1}},
		{"the driver counts another number", arrive, Meta{Held: &two}, Conservation{Pending: 1, Held: 2}},
		{"ended twice", append(arrive[:3:3], Event{Kind: Canceled}, Event{Kind: Canceled}), Meta{}, Conservation{Pending: -1, Held: -1}},
		{"never arrived", append(arrive[:3:3], Event{Kind: Sent}), Meta{}, Conservation{ClientServerGap: 1, Pending: 1, Held: -1}},
		{"still on its way", append(arrive[:3:3], Event{Kind: Sent}), Meta{InFlight: 1}, Conservation{OK: true, ClientServerGap: 1, InFlight: 1, Pending: 1, Held: -1}},
		{"an error on its way", append(arrive[:3:3], Event{Kind: Sent}, Event{Kind: Answered, Outcome: work.ClientError}), Meta{},
			Conservation{OK: true, Pending: 1, Held: -1}},
		{"carried over", append(arrive[:3:3], Event{Kind: Carried}), Meta{}, Conservation{OK: true, Pending: 2, Held: -1}},
		{"no server", arrive[:1], Meta{ClientOnly: true}, Conservation{OK: true, Held: -1}},
	} {
		equal(t, c.name, tell(Config{}, c.events).Summary(c.meta).Conservation, c.want)
	}
}

func TestMissedSends(t *testing.T) {
	for _, c := range []struct {
		missed    int
		took      time.Duration
		delivered bool
	}{{1, 0, true}, {2, 0, false}, {0, MissedAfter, true}, {0, MissedAfter + 1, false}} {
		l := New(Config{})
		for i := range 1000 {
			kind := Sent
			if i < c.missed {
				kind = Missed
			}
			l.Record(Event{Kind: kind, Took: c.took})
		}
		equal(t, "delivered", l.Summary(Meta{}).Generator.Delivered, c.delivered)
	}
}

func TestClientOnly(t *testing.T) {
	var events []Event
	for o := work.Succeeded; o < work.NumOutcomes; o++ {
		events = append(events, Event{Kind: Sent, Unit: work.Unit{Attempt: 1}}, Event{Kind: Answered, Outcome: o})
	}
	s := tell(Config{}, events).Summary(Meta{ClientOnly: true})
	a := s.Attempts
	equal(t, "attempts", [6]int64{a.Total, a.OnTime, a.Failed, a.RefusedTotal, a.DroppedTotal, a.Unfinished}, [6]int64{6, 1, 2, 1, 1, 1})
	equal(t, "view", s.View, "client")
	equal(t, "errors", s.ClientErrors["unnamed"], int64(1))
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

func TestRecordDoesNotAllocate(t *testing.T) {
	l, events := New(Config{Classes: twoClasses}), story()
	if n := testing.AllocsPerRun(100, func() {
		for _, e := range events {
			l.Record(e)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	l, events := New(Config{Classes: twoClasses}), story()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Record(events[i%len(events)])
	}
}

func BenchmarkSnapshot(b *testing.B) {
	l := tell(Config{Classes: twoClasses}, story())
	for i := range 200_000 {
		l.Record(Event{At: work.Instant(i) * ms / 2, Kind: Finished, Unit: work.Unit{Enqueued: work.Instant(i) * ms / 3}})
	}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			l.Snapshot(97)
		}
	})
	b.Run("encode", func(b *testing.B) {
		s := l.Snapshot(97)
		for b.Loop() {
			if _, err := json.Marshal(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
