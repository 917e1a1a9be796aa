package service

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/draw"
)

const ms = time.Millisecond

func TestParseSpec(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		want            Spec
	}{
		{"50ms", "50ms", Spec{Fixed, 50 * ms, 0}},
		{"0", "0s", Spec{}},
		{"1h", "1h0m0s", Spec{Fixed, time.Hour, 0}},
		{"uniform:50ms,50.5ms", "uniform:50ms,50.5ms", Spec{Uniform, 50 * ms, 50*ms + 500*time.Microsecond}},
		{"uniform:50ms,50ms", "uniform:50ms,50ms", Spec{Uniform, 50 * ms, 50 * ms}},
		{"exp:0.05s", "exp:50ms", Spec{Exponential, 50 * ms, 0}},
		{"lognormal:50ms,p99=200ms", "lognormal:50ms,p99=200ms", Spec{Lognormal, 50 * ms, 200 * ms}},
	} {
		got, err := ParseSpec(c.text)
		if err != nil || got != c.want || got.String() != c.canonical {
			t.Errorf("%q is %+v (%s), %v; want %+v (%s)", c.text, got, got, err, c.want, c.canonical)
		}
		if again, err := ParseSpec(got.String()); err != nil || again != got {
			t.Errorf("%q does not survive being written: %+v, %v", c.text, again, err)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                         `"" is not a duration`,
		"50":                       `"50" is not a duration`,
		"-1ms":                     "-1ms is outside 0s to 1h0m0s",
		"61m":                      "61m is outside",
		"gamma:1ms":                `unknown distribution "gamma"`,
		"uniform:50ms":             "uniform needs two ends",
		"uniform:50ms,40ms":        "upper end 40ms is below the lower end 50ms",
		"uniform:1ms,2ms,3ms":      `"2ms,3ms" is not a duration`,
		"exp:0s":                   "mean must be above 0s",
		"exp:1ms,2ms":              "exp takes its mean alone",
		"lognormal:50ms":           "lognormal needs its p99",
		"lognormal:50ms,200ms":     "lognormal needs its p99",
		"lognormal:50ms,p99=":      `"" is not a duration`,
		"lognormal:50ms,p99=40ms":  "p99 40ms must be at least the median 50ms",
		"lognormal:0s,p99=40ms":    "above 0s",
		"uniform:50ms,p99=100ms":   `"p99=100ms" is not a duration`,
		"lognormal:50ms,p99=200xs": `"200xs" is not a duration`,
	} {
		_, err := ParseSpec(text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "lognormal:50ms,p99=200ms") {
			t.Errorf("%q: %v; want it to say %q and what is allowed", text, err, says)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{"50ms", "uniform:50ms,50.5ms", "exp:50ms", "lognormal:50ms,p99=200ms", "exp:", "1h", "uniform:,", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("%q is accepted but not valid: %v", text, err)
		}
		if again, err := ParseSpec(s.String()); err != nil || again != s {
			t.Fatalf("%q is written %q and read as %+v, %v", text, s, again, err)
		}
		if d := s.Draw(draw.Seed(1).For(draw.Key{})); d < 0 {
			t.Fatalf("%q draws %s", text, d)
		}
	})
}

func drawn(s Spec, n int) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = s.Draw(draw.Seed(1).For(draw.Key{Purpose: draw.Service, Request: uint64(i)}))
	}
	slices.Sort(times)
	return times
}

func mean(times []time.Duration) float64 {
	sum := 0.0
	for _, d := range times {
		sum += float64(d)
	}
	return sum / float64(len(times))
}

func TestDrawFollowsTheDistribution(t *testing.T) {
	const n = 100_000
	for _, c := range []struct {
		text     string
		p50, p99 time.Duration
	}{
		{"50ms", 50 * ms, 50 * ms},
		{"uniform:50ms,150ms", 100 * ms, 149 * ms},
		{"exp:50ms", 34657 * time.Microsecond, 230259 * time.Microsecond},
		{"lognormal:50ms,p99=200ms", 50 * ms, 200 * ms},
	} {
		s, err := ParseSpec(c.text)
		if err != nil {
			t.Fatal(err)
		}
		times := drawn(s, n)
		for _, q := range []struct {
			name      string
			got, want float64
		}{
			{"mean", mean(times), float64(s.Mean())},
			{"median", float64(times[n/2]), float64(c.p50)},
			{"p99", float64(times[n*99/100]), float64(c.p99)},
		} {
			if math.Abs(q.got/q.want-1) > 0.02 {
				t.Errorf("%s: %s %s, want %s", c.text, q.name, time.Duration(q.got), time.Duration(q.want))
			}
		}
	}
}

// Both ends of a uniform time are drawn, and nothing outside.
func TestUniformBounds(t *testing.T) {
	times := drawn(Spec{Uniform, 3, 5}, 300)
	if times[0] != 3 || times[299] != 5 || times[150] != 4 {
		t.Errorf("drew %d, %d, %d; want 3, 4, 5", times[0], times[150], times[299])
	}
}

// The draws are part of every published result.
func TestDrawsAreTheSameEverywhere(t *testing.T) {
	for text, want := range map[string][2]time.Duration{
		"uniform:50ms,50.5ms":      {50473306, 50121223},
		"exp:50ms":                 {56597224, 12122311},
		"lognormal:50ms,p99=200ms": {98156215, 57771708},
	} {
		s, err := ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got := s.Draw(draw.Seed(9).For(draw.Key{Purpose: draw.Service, Request: uint64(i)})); got != want[i] {
				t.Errorf("%s: draw %d is %d ns, want %d", text, i, got, want[i])
			}
		}
	}
}

func TestScaledKeepsTheDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{A: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "a"))}
		s.Kind = Kind(rapid.IntRange(int(Exponential), int(Lognormal)).Draw(t, "kind"))
		if s.Kind == Lognormal {
			s.B = s.A * time.Duration(rapid.IntRange(1, 50).Draw(t, "b"))
		}
		k := float64(rapid.IntRange(1, 50).Draw(t, "k"))
		rnd := draw.Seed(1).For(draw.Key{Request: rapid.Uint64().Draw(t, "request")})
		plain, large := float64(s.Draw(rnd)), float64(s.Scaled(k).Draw(rnd))
		if math.Abs(large-plain*k) > k+1e-9*large {
			t.Fatalf("%s draws %v, %s draws %v", s, plain, s.Scaled(k), large)
		}
	})
}

func BenchmarkDrawLognormal(b *testing.B) {
	s := Spec{Lognormal, 50 * ms, 200 * ms}
	for i := range b.N {
		s.Draw(draw.Seed(1).For(draw.Key{Request: uint64(i)}))
	}
}
