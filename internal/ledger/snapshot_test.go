package ledger

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"shedload/internal/work"
)

var pollConfig = Config{Instance: "one", Classes: twoClasses, Windows: []WindowSpec{{Name: "w", To: time.Second, Completed: true}}}

func snapshotText(tb testing.TB) []byte {
	text, err := json.Marshal(tell(pollConfig, story()).Snapshot(0))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// TestMergeRefuses: what cannot be is an error, and changes nothing.
func TestMergeRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Snapshot)
		want string
	}{
		{"resolution", func(s *Snapshot) { s.Resolution = time.Millisecond }, "resolution 1ms: 1µs is expected"},
		{"classes", func(s *Snapshot) { s.Classes = nil }, "classes"},
		{"totals", func(s *Snapshot) { s.Totals = s.Totals[:1] }, "totals of 1 classes: 2 are expected"},
		{"gap", func(s *Snapshot) { s.From = 3 }, "rows from second 3: those from 2 on are missing"},
		{"before the start", func(s *Snapshot) { s.From = -1 }, "rows from second -1"},
		{"too many rows", func(s *Snapshot) { s.Rows = make([]ServerRow, MaxRows+1) }, "at most 86400"},
		{"negative total", func(s *Snapshot) { s.Totals[1].Refused[work.QueueFull] = -1 }, "totals of class 1"},
		{"huge total", func(s *Snapshot) { s.Totals[0].Late = maxCount + 1 }, "totals of class 0"},
		{"negative row", func(s *Snapshot) { s.Rows[1].Work = -1 }, "row of second 1"},
		{"negative peak", func(s *Snapshot) { s.PeakQueue = -1 }, "peaks"},
		{"no histogram", func(s *Snapshot) { s.Served = nil }, "served: histogram is missing"},
		{"another histogram", func(s *Snapshot) { s.ShedWait = newHistogram(time.Millisecond) }, "shed_wait: histogram spans"},
		{"no window", func(s *Snapshot) { s.Windows = nil }, "more were asked for"},
		{"another window", func(s *Snapshot) { s.Windows = append(s.Windows, s.Windows[0]) }, "2 windows"},
		{"window without histogram", func(s *Snapshot) { s.Windows[0].Sojourn = nil }, `window "w": histogram is missing`},
		{"negative window", func(s *Snapshot) { s.Windows[0].Late = -1 }, "counts"},
		{"restart", func(s *Snapshot) { s.Instance = "two" }, `instance "two", was "one"`},
		{"old", func(s *Snapshot) { s.Events-- }, "older than the last one"},
	} {
		client := New(Config{Classes: twoClasses, Windows: pollConfig.Windows})
		var good, bad Snapshot
		for _, s := range []*Snapshot{&good, &bad} {
			if err := json.Unmarshal(snapshotText(t), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Merge(good); err != nil {
			t.Fatal(err)
		}
		before, _ := json.Marshal(client.Snapshot(0))
		c.edit(&bad)
		err := client.Merge(bad)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", c.name, err, c.want)
		}
		if c.name == "restart" && !errors.Is(err, ErrInstance) || c.name == "old" && !errors.Is(err, ErrOld) {
			t.Errorf("%s: error is %v", c.name, err)
		}
		if after, _ := json.Marshal(client.Snapshot(0)); string(after) != string(before) {
			t.Errorf("%s: the ledger changed", c.name)
		}
	}
}

// TestHeldTravels: the server's own count comes with the snapshot.
func TestHeldTravels(t *testing.T) {
	s := tell(pollConfig, story()).Snapshot(0)
	held := int64(7)
	s.Held = &held
	client := New(Config{Classes: twoClasses, Windows: pollConfig.Windows})
	if err := client.Merge(s); err != nil {
		t.Fatal(err)
	}
	equal(t, "conservation", client.Summary(Meta{}).Conservation, Conservation{Held: 7})
}

// TestMergedSumsAreChecked: a server whose sums do not add up is reported, not refused.
func TestMergedSumsAreChecked(t *testing.T) {
	s := tell(pollConfig, story()).Snapshot(0)
	s.Totals[0].OnTime++
	client := New(Config{Classes: twoClasses, Windows: pollConfig.Windows})
	if err := client.Merge(s); err != nil {
		t.Fatal(err)
	}
	equal(t, "conservation", client.Summary(Meta{}).Conservation, Conservation{Held: -1})
}

func TestByReasonText(t *testing.T) {
	b := ByReason{work.QueueFull: 2, work.Doomed: 3}
	text, err := json.Marshal(b)
	equal(t, "text", string(text), `{"doomed":3,"queue_full":2}`)
	var back ByReason
	if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || back != b {
		t.Errorf("read back: %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"boredom":1}`), &back); err == nil || !strings.Contains(err.Error(), "boredom") {
		t.Errorf("error is %v", err)
	}
}

// FuzzMerge: no text can make Merge panic, or give a summary that is not JSON.
func FuzzMerge(f *testing.F) {
	good := snapshotText(f)
	f.Add(good)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"rows":[{}],"from":9223372036854775807,"served":"AAAA"}`))
	f.Add([]byte(strings.Replace(string(good), `"from":0`, `"from":-5`, 1)))
	f.Add([]byte(strings.Replace(string(good), `"late":1`, `"late":9223372036854775807`, 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Snapshot
		if json.Unmarshal(text, &s) != nil {
			return
		}
		l := New(Config{Classes: twoClasses, Windows: pollConfig.Windows})
		if l.Merge(s) != nil {
			return
		}
		if err := l.Merge(s); err != nil {
			t.Fatalf("merged once, then: %v", err)
		}
		if _, err := json.Marshal(l.Summary(Meta{Horizon: 10 * time.Second})); err != nil {
			t.Fatal(err)
		}
		l.Rows(0)
		l.State(5, 0)
	})
}
