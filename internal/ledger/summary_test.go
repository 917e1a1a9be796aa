package ledger

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"shedload/internal/work"
)

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
