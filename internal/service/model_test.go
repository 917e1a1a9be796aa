package service

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

func at(d time.Duration) work.Instant { return work.Instant(d) }

func fixed(d time.Duration) Spec { return Spec{A: d} }

func model(t *testing.T, c Config) *Model {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The window is [at, at+for), and the service time is fixed at the start of service.
func TestServiceTimeIsFixedAtTheStart(t *testing.T) {
	slow := fixed(90 * ms)
	m := model(t, Config{ServiceTime: fixed(30 * ms), Faults: []Fault{{At: time.Second, For: time.Second, ServiceTime: &slow}}})
	for _, c := range []struct{ now, want time.Duration }{
		{0, 30 * ms},
		{time.Second - 1, 30 * ms}, // goes on into the window, and is not slowed
		{time.Second, 90 * ms},
		{2*time.Second - 1, 90 * ms}, // goes on after the window, and stays slow
		{2 * time.Second, 30 * ms},
	} {
		if got := m.Time(Job{}, at(c.now)); got != c.want {
			t.Errorf("started at %s: %s, want %s", c.now, got, c.want)
		}
	}
}

func TestFaultsCombine(t *testing.T) {
	slow, slower := fixed(100*ms), fixed(200*ms)
	m := model(t, Config{
		ServiceTime: fixed(50 * ms),
		Classes:     []string{"page", "report", "feed"},
		PerClass:    []Spec{{}, fixed(80 * ms)},
		Degrade:     Degrade{Slope: 0.5, Max: 3},
		Faults: []Fault{
			{At: 0, For: 10 * time.Second, Factor: 2},
			{At: 1 * time.Second, For: time.Second, ServiceTime: &slow},
			{At: 1500 * ms, For: time.Second, ServiceTime: &slower, Class: "report"},
			{At: 3 * time.Second, For: time.Second, Factor: 1.5, Class: "report"},
			{At: 5 * time.Second, For: time.Second, Hang: true, Class: "report"},
		},
	})
	for _, c := range []struct {
		name  string
		class uint8
		load  Load
		now   time.Duration
		want  time.Duration
	}{
		{"factor", 0, Load{}, 0, 100 * ms},
		{"class's own time × factor", 1, Load{}, 0, 160 * ms},
		{"class without a time of its own", 2, Load{}, 0, 100 * ms},
		{"replaced × factor", 1, Load{}, time.Second, 200 * ms},
		{"the last replacement counts", 1, Load{}, 1500 * ms, 400 * ms},
		{"a replacement for another class", 0, Load{}, 1500 * ms, 200 * ms},
		{"factors multiply", 1, Load{}, 3 * time.Second, 240 * ms},
		{"load within the workers", 0, Load{Queued: 0, InService: 4, Workers: 4}, 9 * time.Second, 100 * ms},
		{"load of two", 0, Load{Queued: 4, InService: 4, Workers: 4}, 9 * time.Second, 150 * ms},
		{"degradation is capped", 0, Load{Queued: 400, InService: 4, Workers: 4}, 9 * time.Second, 300 * ms},
		{"after the faults", 0, Load{}, 10 * time.Second, 50 * ms},
		{"hangs to the end of the window", 1, Load{}, 5200 * ms, 800 * ms},
		{"hang shorter than the service", 1, Load{}, 5999 * ms, 160 * ms},
		{"hang of another class", 0, Load{}, 5200 * ms, 100 * ms},
	} {
		if got := m.Time(Job{Class: c.class, Load: c.load}, at(c.now)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPauseStretchesWhatRuns(t *testing.T) {
	m := model(t, Config{ServiceTime: fixed(50 * ms), Faults: []Fault{
		{At: 100 * ms, For: 30 * ms, Pause: true},
		{At: 120 * ms, For: 20 * ms, Pause: true}, // overlaps: 100 … 140 ms altogether
		{At: 160 * ms, For: 10 * ms, Pause: true},
	}})
	for _, c := range []struct{ start, want time.Duration }{
		{0, 50 * ms},
		{50 * ms, 50 * ms}, // ends as the pause begins
		{50*ms + 1, 90 * ms},
		{90 * ms, 50*ms + 40*ms + 10*ms},
		{170 * ms, 50 * ms},
	} {
		if got := m.Time(Job{}, at(c.start)); got != c.want {
			t.Errorf("started at %s: %s, want %s", c.start, got, c.want)
		}
	}
	if m.Capacity(4, at(100*ms-1)) != 4 || m.Capacity(4, at(100*ms)) != 0 || m.Capacity(4, at(140*ms-1)) != 0 || m.Capacity(4, at(140*ms)) != 4 {
		t.Error("something may start in the pause, or nothing outside")
	}
}

func TestAddedPauseMovesTheEndOfWhatRuns(t *testing.T) {
	m := model(t, Config{ServiceTime: fixed(50 * ms)})
	took := m.Work(Job{}, 0)
	if got := m.End(0, took); got != at(50*ms) {
		t.Fatalf("ends at %s, want 50ms", got)
	}
	if err := m.Add(Fault{For: 20 * ms, Pause: true}, at(10*ms)); err != nil {
		t.Fatal(err)
	}
	if got := m.End(0, took); got != at(70*ms) {
		t.Errorf("with the pause it ends at %s, want 70ms", got)
	}
}

func TestCapacityShare(t *testing.T) {
	m := model(t, Config{Faults: []Fault{
		{At: time.Second, For: 2 * time.Second, CapacityShare: 0.4},
		{At: 2 * time.Second, For: 2 * time.Second, CapacityShare: 0.01},
	}})
	for _, c := range []struct {
		workers int
		now     time.Duration
		want    int
	}{
		{100, 0, 100},
		{100, time.Second, 40},
		{4, time.Second, 2},         // 1.6
		{100, 2 * time.Second, 1},   // the smallest share
		{4, 3500 * ms, 1},           // never none
		{0, 3500 * ms, 0},           // but never more than there are
		{100, 4 * time.Second, 100}, // over
	} {
		if got := m.Capacity(c.workers, at(c.now)); got != c.want {
			t.Errorf("%d workers at %s: %d may be busy, want %d", c.workers, c.now, got, c.want)
		}
	}
	var changes []work.Instant
	for now := work.Instant(-1); now != work.Never; {
		if now = m.NextChange(now); now != work.Never {
			changes = append(changes, now)
		}
	}
	if len(changes) != 4 || changes[0] != at(time.Second) || changes[3] != at(4*time.Second) {
		t.Errorf("capacity changes at %v", changes)
	}
}

// End against an oracle that goes through time nanosecond by nanosecond.
func TestEndAgainstSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 40)
		m := &Model{}
		for range rapid.IntRange(0, 5).Draw(t, "pauses") {
			f := Fault{At: time.Duration(small.Draw(t, "at")), For: time.Duration(1 + small.Draw(t, "for")), Pause: true}
			if err := m.Add(f, 0); err != nil {
				t.Fatal(err)
			}
		}
		start, took := work.Instant(small.Draw(t, "start")), time.Duration(1+small.Draw(t, "took"))
		want := start
		for left := took; left > 0; want++ {
			if m.Capacity(1, want) == 1 {
				left--
			}
		}
		if got := m.End(start, took); got != want {
			t.Fatalf("work of %d ns from %d ends at %d, want %d", took, start, got, want)
		}
	})
}

// Two draws of one attempt agree whatever else was asked in between; a model holds
// no stream.
func TestSameAttemptSameTime(t *testing.T) {
	m := model(t, Config{Seed: 3, ServiceTime: Spec{Exponential, 50 * ms, 0}})
	first := m.Time(Job{Request: 1, Attempt: 1}, 0)
	second := m.Time(Job{Request: 1, Attempt: 2}, 0)
	m.Time(Job{Request: 2, Attempt: 1}, 0)
	if again := m.Time(Job{Request: 1, Attempt: 1}, at(time.Hour)); again != first || first == second {
		t.Errorf("drew %s, then %s; the second attempt %s", first, again, second)
	}
}

func TestFaultRefuses(t *testing.T) {
	bad := fixed(-1)
	for _, c := range []struct {
		f    Fault
		says string
	}{
		{Fault{For: 1}, "0 effects are set, one of service_time, factor, capacity_share, pause and hang"},
		{Fault{For: 1, Pause: true, Hang: true}, "2 effects"},
		{Fault{Pause: true}, "for 0s must be above 0s"},
		{Fault{At: -1, For: 1, Pause: true}, "at -1ns must not be negative"},
		{Fault{For: 1, Factor: -2}, "factor -2 is not above 0"},
		{Fault{For: 1, CapacityShare: 1.5}, "capacity_share 1.5"},
		{Fault{For: 1, Pause: true, Class: "page"}, "goes with service_time, factor or hang only"},
		{Fault{For: 1, Hang: true, Class: "pages"}, `unknown class "pages": allowed are ["page"]`},
		{Fault{For: 1, ServiceTime: &bad}, "service_time: "},
	} {
		_, err := New(Config{Classes: []string{"page"}, Faults: []Fault{c.f}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v; want %q", c.f, err, c.says)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	m := model(t, Config{})
	f := Fault{For: time.Second, Pause: true}
	for range MaxFaults {
		if err := m.Add(f, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Add(f, 0); err == nil {
		t.Error("one fault too many is accepted")
	}
	if err := m.Add(f, at(2*time.Hour)); err != nil || len(m.windows) != 1 {
		t.Errorf("faults that are long over are kept: %d, %v", len(m.windows), err)
	}
}

func TestDegradeText(t *testing.T) {
	for text, want := range map[string]Degrade{
		"none":        {},
		"":            {},
		"0.05":        {0.05, 10},
		"0.05,max=4":  {0.05, 4},
		"1e-3,max=10": {0.001, 10},
	} {
		got, err := ParseDegrade(text)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParseDegrade(got.String()); err != nil || again != got {
			t.Errorf("%q is written %q and read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"x", "-1", "0", "NaN", "1,4", "1,max=", "1,max=0.5", "1,max=NaN", "1,max=4,5", "Inf"} {
		if d, err := ParseDegrade(text); err == nil || !strings.Contains(err.Error(), "0.05,max=4") {
			t.Errorf("%q is %+v, %v; want an error that shows the forms", text, d, err)
		}
	}
}

func FuzzParseDegrade(f *testing.F) {
	for _, text := range []string{"none", "0.05", "0.05,max=4", "1e300", "0x1p-3,max=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDegrade(text)
		if err != nil {
			return
		}
		if again, err := ParseDegrade(d.String()); err != nil || again != d {
			t.Fatalf("%q is written %q and read as %+v, %v", text, d, again, err)
		}
		if f := d.Factor(Load{Queued: 1 << 40, InService: 4, Workers: 4}); !(f >= 1 && f <= MaxFactor) {
			t.Fatalf("%q multiplies by %v", text, f)
		}
	})
}

func TestScaledFault(t *testing.T) {
	slow := fixed(90 * ms)
	got := Fault{At: time.Second, For: 2 * time.Second, ServiceTime: &slow}.Scaled(3)
	if got.At != 3*time.Second || got.For != 6*time.Second || *got.ServiceTime != fixed(270*ms) || slow != fixed(90*ms) {
		t.Errorf("scaled to %+v, %s; the original is %s", got, got.ServiceTime, slow)
	}
}

func BenchmarkTime(b *testing.B) {
	slow := fixed(90 * ms)
	m, err := New(Config{ServiceTime: Spec{Uniform, 50 * ms, 51 * ms}, Faults: []Fault{{At: time.Second, For: time.Second, ServiceTime: &slow}}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		m.Time(Job{Request: uint64(i)}, 0)
	}
}
