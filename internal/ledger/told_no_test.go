package ledger

import (
	"testing"
	"time"

	"shedload/internal/work"
)

// TestToldNoIsWhatClientsHear counts refusals and drops as their clients were told of
// them, and nothing else.
func TestToldNoIsWhatClientsHear(t *testing.T) {
	l := New(Config{})
	for i, e := range []Event{
		{Outcome: work.Refused, Took: 2 * time.Millisecond},
		{Outcome: work.Refused, Took: 3 * time.Millisecond},
		{Outcome: work.Dropped, Took: 900 * time.Millisecond},
		{Outcome: work.Succeeded, Took: time.Second},
		{Outcome: work.TimedOut, Took: 5 * time.Second},
		{Outcome: work.ClientError, Took: 6 * time.Second},
	} {
		e.Kind, e.At = Answered, work.Instant(i)
		l.Record(e)
	}
	got := l.Summary(Meta{Horizon: time.Second}).LatencyMS.ToldNo
	if got.P50 < 3 || got.P50 > 3.01 || got.Max < 900 || got.Max > 901 {
		t.Errorf("got %+v, want a median of 3 ms and a maximum of 900 ms", got)
	}
}
