package arrival

import (
	"math"
	"testing"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

const ms = time.Millisecond

func schedule(t *testing.T, s Spec, phases ...Phase) *Schedule {
	t.Helper()
	q, err := New(s, phases, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// until returns the arrivals before end.
func until(q *Schedule, end time.Duration) []work.Instant {
	var all []work.Instant
	for {
		at, ok := q.Next()
		if !ok || at >= work.Instant(end) {
			return all
		}
		all = append(all, at)
	}
}

// within counts the arrivals in [from, to).
func within(all []work.Instant, from, to time.Duration) int {
	return before(all, work.Instant(to)) - before(all, work.Instant(from))
}

// A user who paces a spike of 400/s by sleeping each gap of 2.5 ms delivers about
// 350/s, because each sleep ends a little late and nothing makes up for it. The
// schedule is closed form: 10 s of 400/s are 4000 arrivals.
func TestArrivalsPacedBySleepingEachGapUnderDeliver(t *testing.T) {
	const overshoot = 360 * time.Microsecond
	sleeping := 0
	for now := time.Duration(0); now < 10*time.Second; now += 2500*time.Microsecond + overshoot {
		sleeping++
	}
	if sleeping > 3600 {
		t.Fatalf("sleeping each gap delivers %d", sleeping)
	}
	all := until(schedule(t, Spec{Kind: Even, Rate: 60}, Phase{Name: "spike", At: 20 * time.Second, For: 10 * time.Second, Rate: 400}), 90*time.Second)
	if got := within(all, 20*time.Second, 30*time.Second); got != 4000 {
		t.Errorf("the spike has %d arrivals, want 4000", got)
	}
	if got := within(all, 0, 20*time.Second); got != 1200 {
		t.Errorf("before the spike there are %d arrivals, want 1200", got)
	}
	if got := within(all, 30*time.Second, 90*time.Second); got != 3600 {
		t.Errorf("after the spike there are %d arrivals, want 3600", got)
	}
	if all[1200] != work.Instant(20*time.Second) || all[1201] != work.Instant(20*time.Second+2500*time.Microsecond) {
		t.Errorf("the spike begins at %s, %s", all[1200], all[1201])
	}
}

// Retry storms: a new request every 10 ms from t = 0 to 7990.
func TestEvenUntil(t *testing.T) {
	all := until(schedule(t, Spec{Kind: Even, Rate: 100, Until: 8 * time.Second}), time.Hour)
	if len(all) != 800 {
		t.Fatalf("%d arrivals, want 800", len(all))
	}
	for k, at := range all {
		if at != work.Instant(time.Duration(k)*10*ms) {
			t.Fatalf("arrival %d is at %s", k, at)
		}
	}
}

// A rate whose period is no whole number of nanoseconds does not drift in an hour.
func TestEvenNeverDrifts(t *testing.T) {
	q := schedule(t, Spec{Kind: Even, Rate: 3})
	for k := range int64(3 * 3600) {
		at, ok := q.Next()
		if want := work.Instant((k*1e9 + 2) / 3); !ok || at != want {
			t.Fatalf("arrival %d is at %d, want %d", k, at, want)
		}
	}
}

// A gap that is half over when the rate doubles has a quarter of its length to go.
func TestAGapCarriesOverAChangeOfRate(t *testing.T) {
	q := schedule(t, Spec{Kind: Even, Rate: 10}, Phase{At: 250 * ms, For: time.Second, Rate: 20})
	want := []time.Duration{0, 100 * ms, 200 * ms, 275 * ms, 325 * ms}
	for k := range want {
		if at, _ := q.Next(); at != work.Instant(want[k]) {
			t.Errorf("arrival %d is at %s, want %s", k, at, want[k])
		}
	}
}

func TestPoissonCounts(t *testing.T) {
	spike := Phase{Name: "spike", At: 20 * time.Second, For: 10 * time.Second, Rate: 400}
	var base, spiked, squares float64
	const seeds = 40
	for seed := range draw.Seed(seeds) {
		q, err := New(Spec{Kind: Poisson, Rate: 60}, []Phase{spike}, seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := until(q, 90*time.Second)
		n := float64(within(all, 0, 20*time.Second))
		base += n / seeds
		squares += n * n / seeds
		spiked += float64(within(all, 20*time.Second, 30*time.Second)) / seeds
	}
	// Means of 1200 and 4000, standard errors √(1200/40) and √(4000/40).
	if math.Abs(base-1200) > 3*math.Sqrt(1200./seeds) || math.Abs(spiked-4000) > 3*math.Sqrt(4000./seeds) {
		t.Errorf("means %v and %v, want 1200 and 4000", base, spiked)
	}
	// A Poisson count varies as much as its mean.
	if variance := squares - base*base; variance < 600 || variance > 2000 {
		t.Errorf("variance %v, want about 1200", variance)
	}
}

// A phase does not change the draws: up to it two variants see the same arrivals.
func TestSameArrivalsForEveryVariant(t *testing.T) {
	plain := until(schedule(t, Spec{Kind: Poisson, Rate: 60}), 40*time.Second)
	spiked := until(schedule(t, Spec{Kind: Poisson, Rate: 60}, Phase{At: 20 * time.Second, For: time.Second, Rate: 400}), 20*time.Second)
	for i, at := range spiked {
		if plain[i] != at {
			t.Fatalf("arrival %d is at %s and %s", i, plain[i], at)
		}
	}
	other, err := New(Spec{Kind: Poisson, Rate: 60}, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := other.Next(); at == plain[0] {
		t.Error("two clients draw the same arrivals")
	}
}

func TestDrawsAreTheSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want [4]work.Instant
	}{
		{Spec{Kind: Poisson, Rate: 60}, [4]work.Instant{1340121, 6615591, 17962482, 8020572424}},
		{Spec{Kind: Ramp, Rate: 1, To: 500, Over: 10 * time.Second}, [4]work.Instant{0, 181160728, 263794248, 4452140776}},
		{Spec{Kind: Ramp, Rate: 500, To: 1, Over: 10 * time.Second, Poisson: true}, [4]work.Instant{160816, 793903, 2155730, 1013750418}},
	} {
		all := until(schedule(t, c.spec), 20*time.Second)
		if got := [4]work.Instant{all[0], all[1], all[2], all[499]}; got != c.want {
			t.Errorf("%s: got %d, want %d", c.spec.Kind, got, c.want)
		}
	}
}

func TestBurst(t *testing.T) {
	all := until(schedule(t, Spec{Kind: Burst, Count: 40, From: 10 * ms}), time.Hour)
	if len(all) != 40 || all[0] != work.Instant(10*ms) || all[39] != work.Instant(10*ms) {
		t.Errorf("burst of 40 at 10ms: %v", all)
	}
}

func TestTrace(t *testing.T) {
	recorded := []work.Instant{0, 5, 5, 1_000_000_007}
	q := schedule(t, Spec{Kind: Trace, Trace: recorded, From: time.Second, Until: 2 * time.Second}, Phase{Name: "named", For: time.Hour, Stop: true})
	all := until(q, time.Hour)
	if len(all) != 3 || all[0] != work.Instant(time.Second) || all[2] != work.Instant(time.Second+5) {
		t.Errorf("replays %d", all)
	}
	if q.Rate(work.Instant(1500*ms)) != 3 || q.Rate(work.Instant(500*ms)) != 0 || q.PhaseAt(0) != "named" {
		t.Errorf("rate %v, phase %q", q.Rate(work.Instant(1500*ms)), q.PhaseAt(0))
	}
}

// The demand of "Three shedding policies": 1 s at 80/s, 0.5 s at 600/s, repeated.
func TestOnOff(t *testing.T) {
	q := schedule(t, Spec{Kind: OnOff, Rate: 80, On: time.Second, OffRate: 600, Off: 500 * ms, From: 100 * ms})
	all := until(q, 1600*ms+1)
	if len(all) != 381 || all[0] != work.Instant(100*ms) || all[80] != work.Instant(1100*ms) || all[380] != work.Instant(1600*ms) {
		t.Errorf("%d arrivals, from %s; spells change at %s and %s", len(all), all[0], all[80], all[380])
	}
	if a, b := q.Rate(work.Instant(1100*ms-1)), q.Rate(work.Instant(1100*ms)); a != 80 || b != 600 {
		t.Errorf("rates %v and %v", a, b)
	}
	silent := until(schedule(t, Spec{Kind: OnOff, Rate: 100, On: 100 * ms, Off: 900 * ms, Poisson: true}), 100*time.Second)
	for _, at := range silent {
		if time.Duration(at)%time.Second >= 100*ms {
			t.Fatalf("arrival at %s, in a silent spell", at)
		}
	}
	if n := len(silent); n < 900 || n > 1100 {
		t.Errorf("%d arrivals, want about 1000", n)
	}
}

func TestRamp(t *testing.T) {
	up := until(schedule(t, Spec{Kind: Ramp, Rate: 0, To: 100, Over: 10 * time.Second}), 20*time.Second)
	down := until(schedule(t, Spec{Kind: Ramp, Rate: 100, To: 0, Over: 10 * time.Second}), time.Hour)
	if within(up, 0, 10*time.Second) != 500 || within(up, 10*time.Second, 20*time.Second) != 1000 || len(down) != 500 {
		t.Errorf("%d on the way up, %d above, %d on the way down", within(up, 0, 10*time.Second), within(up, 10*time.Second, 20*time.Second), len(down))
	}
	// k arrivals have come when 5·t² = k.
	for k, at := range up[:500] {
		if want := math.Sqrt(float64(k)/5) * 1e9; math.Abs(float64(at)-want) > 1.5 {
			t.Fatalf("arrival %d is at %d, want %v", k, at, want)
		}
	}
	// Backwards, the way down is the way up.
	for k, at := range down[1:] {
		if want := 10e9 - math.Sqrt(float64(499-k)/5)*1e9; math.Abs(float64(at)-want) > 1.5 {
			t.Fatalf("arrival %d is at %d, want %v", k+1, at, want)
		}
	}
}

func TestPhaseShapes(t *testing.T) {
	phases := []Phase{
		{Name: "doubled", At: 1 * time.Second, For: time.Second, Factor: 2},
		{Name: "quiet", At: 2 * time.Second, For: time.Second, Stop: true},
		{Name: "climb", At: 3 * time.Second, For: 2 * time.Second, Rate: 100, To: 300},
		{Name: "inside", At: 4 * time.Second, For: 100 * ms, Rate: 7},
		{Name: "falling", At: 6 * time.Second, For: time.Second, Factor: 3, To: 1},
	}
	q := schedule(t, Spec{Kind: Even, Rate: 100}, phases...)
	for _, c := range []struct {
		at   time.Duration
		name string
		rate float64
	}{
		{0, "", 100},
		{1*time.Second - 1, "", 100},
		{1 * time.Second, "doubled", 200},
		{2*time.Second - 1, "doubled", 200},
		{2 * time.Second, "quiet", 0},
		{3 * time.Second, "climb", 100},
		{3500 * ms, "climb", 150},
		{4050 * ms, "inside", 7},
		{4100 * ms, "climb", 210},
		{5 * time.Second, "", 100},
		{6500 * ms, "falling", 200},
		{7 * time.Second, "", 100},
	} {
		if name, rate := q.PhaseAt(work.Instant(c.at)), q.Rate(work.Instant(c.at)); name != c.name || rate != c.rate {
			t.Errorf("at %s: %q at %v/s, want %q at %v/s", c.at, name, rate, c.name, c.rate)
		}
	}
	all := until(q, 8*time.Second)
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{1 * time.Second, 2 * time.Second, 200},
		{2 * time.Second, 3 * time.Second, 0},
		{3 * time.Second, 4 * time.Second, 150},
		{6 * time.Second, 7 * time.Second, 200},
	} {
		if got := within(all, c.from, c.to); got < c.want-1 || got > c.want+1 {
			t.Errorf("%d arrivals from %s to %s, want %d ± 1", got, c.from, c.to, c.want)
		}
	}
}

func TestPhasesOf(t *testing.T) {
	phases := []Phase{{Name: "all"}, {Name: "theirs", Client: "batch"}, {Name: "ours", Client: "users"}}
	got := PhasesOf(phases, "users")
	if len(got) != 2 || got[0].Name != "all" || got[1].Name != "ours" {
		t.Errorf("the users' phases are %v", got)
	}
}
