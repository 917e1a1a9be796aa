package population

import (
	"slices"
	"strings"
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

func TestClosedLoop(t *testing.T) {
	id := Identity{Client: 2, Seed: 9, ClassOf: func(request uint64) uint8 { return uint8(request % 2) }}
	l := newTimeline(t, thinking(3, "100ms"), id)
	l.serve = func(_ Attempt, now work.Instant) (work.Instant, work.Result) { return now.Add(50 * ms), ok }
	l.g.Start(at(1000))
	if len(l.events) != 0 || l.g.Len() != 3 {
		t.Errorf("%d events, %d in the group while all think", len(l.events), l.g.Len())
	}
	l.run(at(1449)) // thoughts end at 1100, 1250 and 1400
	l.g.Close(at(1449))
	var requests []uint64
	for _, a := range l.sent {
		requests = append(requests, a.Request-RequestID(2, 0))
		if want := at(1100 + 150*int64((a.Request&0xffff)/3)); a.Intended != want || a.Class != uint8(a.Request%2) {
			t.Errorf("request %d at %s in class %d, want at %s", a.Request, a.Intended, a.Class, want)
		}
	}
	if want := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(requests, want) {
		t.Errorf("requests %v, want %v", requests, want)
	}
	if got := strings.Count(l.trace(), "unfinished"); got != 3 {
		t.Errorf("%d unfinished requests, want the 3 under way", got)
	}
}

// The pause before a request depends on its number alone: not on how long the
// requests before it took, nor on which user's came first.
func TestThinkTimesDoNotDependOnTheServer(t *testing.T) {
	pauses := func(took time.Duration, part, parts uint16) map[uint64]time.Duration {
		l := newTimeline(t, thinking(7, "exp:100ms"), Identity{Seed: 4, Part: part, Parts: parts})
		l.serve = func(a Attempt, now work.Instant) (work.Instant, work.Result) {
			return now.Add(took + time.Duration(a.Request%5)*ms), ok
		}
		l.g.Start(0)
		l.run(at(3000))
		out, ended := map[uint64]time.Duration{}, map[uint64]work.Instant{}
		for _, e := range l.events {
			switch e.Kind {
			case ledger.Wished:
				if before, first := ended[e.Unit.Request-l.g.round], e.Unit.Request < l.g.round; first || before > 0 {
					out[e.Unit.Request] = e.At.Sub(before)
				}
			case ledger.Ended:
				ended[e.Unit.Request] = e.At
			}
		}
		return out
	}
	quick, slow := pauses(ms, 0, 1), pauses(200*ms, 0, 1)
	both := 0
	for request, pause := range slow {
		if q, ok := quick[request]; ok {
			both++
			if q != pause {
				t.Errorf("request %d: thought %s before a quick server's, %s before a slow one's", request, q, pause)
			}
		}
	}
	if both < 30 {
		t.Errorf("only %d requests to compare", both)
	}
	seen := 0
	for part := range uint16(2) {
		for request := range pauses(ms, part, 2) {
			seen++
			if request%2 != uint64(part) {
				t.Errorf("request %d in part %d of 2", request, part)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d requests in the parts", seen)
	}
}
