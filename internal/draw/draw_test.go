package draw

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func stream(n uint64) Rand { return Seed(1).For(Key{Purpose: Service, Request: n}) }

// The numbers are part of every published result: they never change, on any
// architecture.
func TestDrawsAreTheSameEverywhere(t *testing.T) {
	r := Seed(7).For(Key{Purpose: Arrival, Client: 3, Request: 1 << 40, Attempt: 2})
	got := []any{
		r.Uint64(), r.Uint64(), r.Below(1000), r.Below(1<<63 + 1), r.Float64(),
		r.Exponential(), r.Exponential(), r.Exponential(), r.Normal(), r.Normal(), r.Normal(),
		r.ExponentialTime(time.Second), r.ExponentialTime(time.Hour),
		math.Float64bits(Exp(1)), math.Float64bits(Exp(-0.3)), math.Float64bits(Exp(12.345)), math.Float64bits(Exp(-700)),
		math.Float64bits(Ln(2)), math.Float64bits(Ln(10)), math.Float64bits(Ln(0.7)), math.Float64bits(Ln(1e300)),
	}
	want := []any{
		uint64(0xa6f87ce110301d9b), uint64(0x1bf7a1667298c999), uint64(0x18e), uint64(0x31961c765c1d3fee), 0.28644950416024706,
		uint64(0x656639363), uint64(0x14ef83ea), uint64(0x10c809cc), int64(-3447420571), int64(4966206996), int64(4856434519),
		time.Duration(318539633), time.Duration(956538814399),
		uint64(0x4005bf0a8b14576a), uint64(0x3fe7b4c869c37c05), uint64(0x410c0d80ffb740c6), uint64(0xd14f2b0fb92f8c),
		uint64(0x3fe62e42fefa39ef), uint64(0x40026bb1bbb55515), uint64(0xbfd6d3c324e13f4f), uint64(0x4085963447f87fb5),
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("draw %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func TestEachKeyHasAStreamOfItsOwn(t *testing.T) {
	base := Key{Purpose: Arrival, Client: 1, Request: 1, Attempt: 1}
	seen := map[uint64]string{}
	add := func(name string, r Rand) {
		first := r.Uint64()
		if other, twice := seen[first]; twice {
			t.Errorf("%s draws the same as %s", name, other)
		}
		seen[first] = name
	}
	add("base", Seed(1).For(base))
	add("other seed", Seed(2).For(base))
	for _, other := range []struct {
		name string
		key  Key
	}{
		{"purpose", Key{Service, 1, 1, 1}},
		{"client", Key{Arrival, 2, 1, 1}},
		{"request", Key{Arrival, 1, 2, 1}},
		{"attempt", Key{Arrival, 1, 1, 2}},
		{"client and attempt swapped", Key{Arrival, 0, 1, 257}},
	} {
		add(other.name, Seed(1).For(other.key))
	}
	if first, again := Seed(1).For(base), Seed(1).For(base); first != again {
		t.Error("the same key gives two streams")
	}
}

func TestBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n")
		r := stream(rapid.Uint64().Draw(t, "request"))
		if got := r.Below(n); got >= n && n > 0 || n == 0 && got != 0 {
			t.Fatalf("Below(%d) = %d", n, got)
		}
	})
	// Of 3·2^62 numbers, Below without rejection would favour some twofold.
	const n, rounds = 3 << 62, 30_000
	counts := [3]int{}
	r := stream(0)
	for range rounds {
		counts[r.Below(n)>>62]++
	}
	for i, c := range counts {
		if math.Abs(float64(c)/rounds-1./3) > 0.01 {
			t.Errorf("third %d was drawn %d times of %d", i, c, rounds)
		}
	}
}

// moments returns the mean and the variance of n draws, and the shares below each
// of the limits.
func moments(n int, draw func(r *Rand) float64, limits ...float64) (mean, variance float64, below []float64) {
	below = make([]float64, len(limits))
	var sum, squares float64
	for i := range n {
		r := stream(uint64(i))
		x := draw(&r)
		sum += x
		squares += x * x
		for j, limit := range limits {
			if x < limit {
				below[j] += 1 / float64(n)
			}
		}
	}
	mean = sum / float64(n)
	return mean, squares/float64(n) - mean*mean, below
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, within)
	}
}

func TestDistributions(t *testing.T) {
	const n = 200_000
	limits := []float64{0.1, 0.5, 1, 2, 4}
	mean, variance, below := moments(n, func(r *Rand) float64 { return float64(r.Exponential()) / One }, limits...)
	near(t, "mean of the exponential", mean, 1, 0.01)
	near(t, "variance of the exponential", variance, 1, 0.02)
	for i, x := range limits {
		near(t, "share of the exponential", below[i], 1-math.Exp(-x), 0.005)
	}

	limits = []float64{-2.3263, -1, 0, 1, 2.3263}
	mean, variance, below = moments(n, func(r *Rand) float64 { return float64(r.Normal()) / One }, limits...)
	near(t, "mean of the normal", mean, 0, 0.01)
	near(t, "variance of the normal", variance, 1, 0.02)
	for i, x := range limits {
		near(t, "share of the normal", below[i], (1+math.Erf(x/math.Sqrt2))/2, 0.005)
	}

	mean, variance, _ = moments(n, func(r *Rand) float64 { return r.Float64() })
	near(t, "mean of the uniform", mean, 0.5, 0.005)
	near(t, "variance of the uniform", variance, 1./12, 0.002)

	mean, _, _ = moments(n, func(r *Rand) float64 { return r.ExponentialTime(50 * time.Millisecond).Seconds() })
	near(t, "mean of the exponential time", mean, 0.05, 0.0005)
}

func TestExpAndLn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(t, "x")
		if got, want := Exp(x), math.Exp(x); math.Abs(got/want-1) > 1e-15*(1+math.Abs(x)) {
			t.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
		y := math.Abs(rapid.Float64().Draw(t, "y"))
		if y < 0x1p-1022 { // the oracle's assembly is wrong for subnormal numbers
			return
		}
		if got, want := Ln(y), math.Log(y); math.Abs(got-want) > 1e-15*(1+math.Abs(want)) {
			t.Fatalf("Ln(%v) = %v, want %v", y, got, want)
		}
	})
	if Exp(0) != 1 || Ln(1) != 0 {
		t.Errorf("Exp(0) = %v, Ln(1) = %v", Exp(0), Ln(1))
	}
}

func BenchmarkExponential(b *testing.B) {
	for i := range b.N {
		r := stream(uint64(i))
		r.Exponential()
	}
}

func BenchmarkNormal(b *testing.B) {
	for i := range b.N {
		r := stream(uint64(i))
		r.Normal()
	}
}
