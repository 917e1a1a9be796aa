package deadline

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFormatRoundsDown(t *testing.T) {
	for d, want := range map[time.Duration]string{
		949731 * time.Microsecond:                     "949.731",
		949731*time.Microsecond + 999*time.Nanosecond: "949.731",
		949700 * time.Microsecond:                     "949.7",
		949 * time.Millisecond:                        "949",
		time.Microsecond:                              "0.001",
		20 * time.Microsecond:                         "0.02",
		999 * time.Nanosecond:                         "0",
		0:                                             "0",
		-time.Second:                                  "0",
		time.Hour:                                     "3600000",
		math.MaxInt64:                                 "9223372036854.775",
		time.Millisecond + 100*time.Microsecond:       "1.1",
		100*time.Millisecond + 10*time.Microsecond + 99: "100.01",
	} {
		if got := Format(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestParseMs(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0.000": 0, "000": 0, "949.731": 949731 * time.Microsecond, "0.001": time.Microsecond,
		"1.5": 1500 * time.Microsecond, "007": 7 * time.Millisecond, "999999999999": 999999999999 * time.Millisecond,
	} {
		if got, err := ParseMs(text); err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ".", ".5", "5.", "1.2345", "-1", "+1", "1e3", "1_000", " 1", "1 ", "1,5", "1.2.3", "0x10", "NaN", "Inf", "١", "1000000000000", "1ms", "1.-5",
	} {
		if got, err := ParseMs(text); err == nil {
			t.Errorf("%q = %v, want an error", text, got)
		}
	}
}

func TestRoundTripNeverGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 999999999999*int64(time.Millisecond)).Draw(t, "d"))
		got, err := ParseMs(Format(d))
		if err != nil || got > d || d-got >= time.Microsecond {
			t.Fatalf("%v travels as %q and arrives as %v, %v", d, Format(d), got, err)
		}
		if Format(got) != Format(d) {
			t.Fatalf("%q is sent on as %q", Format(d), Format(got))
		}
	})
}

func FuzzParseMs(f *testing.F) {
	for _, seed := range []string{"949.731", "0", "1.5", "-1", "", ".", "999999999999.999", "1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseMs(text)
		if err != nil {
			return
		}
		if again, err := ParseMs(Format(d)); err != nil || again != d || d < 0 {
			t.Fatalf("%q is %v, sent on as %q: %v, %v", text, d, Format(d), again, err)
		}
	})
}

func BenchmarkFormat(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Format(949731 * time.Microsecond)
	}
}

func BenchmarkParseMs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseMs("949.731"); err != nil {
			b.Fatal(err)
		}
	}
}
