package scenarios_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the recorded traces")

// segment is a stretch of constant demand, in ms and requests a second.
type segment struct{ length, rate float64 }

// The recorded arrivals of three-policies come from the original's own arithmetic:
// in each segment it adds the gap 1000/rate, a 64-bit floating-point number of
// milliseconds, again and again. The rounding drift of that sum decides on which
// side of a completion some arrivals fall, and with it a few published cells.
//
// A trace has whole nanoseconds, so the drift, far below one, would be rounded
// away. An arrival that drifted off a whole nanosecond is therefore moved by 1 ns
// to the side to which it drifted; all others are rounded to the nearest.
func TestThreePoliciesTraces(t *testing.T) {
	traces := map[string][]segment{"hangover": {{1000, 80}, {500, 600}}}
	for _, rate := range []float64{50, 75, 100, 125, 150, 200, 300} {
		traces[fmt.Sprint(rate)] = []segment{{5000, rate}}
	}
	for name, demand := range traces {
		file := "three-policies-" + name + ".trace"
		want := trace(demand, 5000)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the original's arithmetic gives; -update rewrites it", file)
		}
	}
}

func trace(demand []segment, window float64) []byte {
	var b bytes.Buffer
	b.WriteString("# Arrivals in ns, made by trace_test.go from floating-point milliseconds:\n")
	for _, s := range demand {
		fmt.Fprintf(&b, "# %v ms at %v a second, repeated to %v ms\n", s.length, s.rate, window)
	}
	start := 0.0
	for i := 0; start < window; i++ {
		s := demand[i%len(demand)]
		gap := 1000 / s.rate
		for at := start; at < min(start+s.length, window); at += gap {
			fmt.Fprintln(&b, nanoseconds(at))
		}
		start += s.length
	}
	return b.Bytes()
}

// nanoseconds converts milliseconds to whole nanoseconds and keeps the side on
// which they lie of a whole one that they all but are.
func nanoseconds(ms float64) int64 {
	exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(ms), big.NewRat(1_000_000, 1))
	half := new(big.Rat).Add(exact, big.NewRat(1, 2))
	whole := new(big.Int).Div(half.Num(), half.Denom()).Int64()
	off := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(whole))
	drifted := new(big.Rat).Abs(off).Cmp(big.NewRat(1, 100)) < 0
	if drifted {
		whole += int64(off.Sign())
	}
	return whole
}
