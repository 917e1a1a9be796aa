package retry

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestThousandthsText(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Thousandths
		out  string
	}{
		{"0", 0, "0"}, {"10", 10_000, "10"}, {"0.1", 100, "0.1"}, {"0.100", 100, "0.1"},
		{"2.125", 2125, "2.125"}, {"00.5", 500, "0.5"}, {"1000000", 1_000_000_000, "1000000"},
	} {
		got, err := ParseThousandths(c.in)
		if err != nil || got != c.want || got.String() != c.out {
			t.Errorf("%q: %d, %q, %v; want %d, %q", c.in, got, got, err, c.want, c.out)
		}
	}
	for _, bad := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "0.1234", "1_0", " 1", "0x1", "1000000.001", "99999999999999999999"} {
		if got, err := ParseThousandths(bad); err == nil {
			t.Errorf("%q: %d, want an error", bad, got)
		} else if !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: error %q does not show it", bad, err)
		}
	}
}

func TestThousandthsAreJSONNumbers(t *testing.T) {
	got, err := json.Marshal(map[string]Thousandths{"a": 100, "b": -2500, "c": 3000})
	if err != nil || string(got) != `{"a":0.1,"b":-2.5,"c":3}` {
		t.Errorf("%s, %v", got, err)
	}
}

// A binary 0.1 added a hundred times is not 10, and the published numbers depend on it.
func TestTenthsAddUpExactly(t *testing.T) {
	tenth, err := ParseThousandths("0.1")
	if err != nil {
		t.Fatal(err)
	}
	sum, binary := Thousandths(0), 0.0
	for range 100 {
		sum += tenth
		binary += tenth.Float64()
	}
	if sum != 10*One {
		t.Errorf("sum %s, want 10", sum)
	}
	if binary == 10 {
		t.Error("binary fractions add up too: the type is not needed")
	}
}

func FuzzParseThousandths(f *testing.F) {
	for _, s := range []string{"0", "10", "0.1", "2.125", "1.", "-1", "1e9", "1000000.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseThousandths(s)
		if err != nil {
			return
		}
		if n < 0 || n > maxThousandths {
			t.Fatalf("%q gives %d, outside the allowed range", s, n)
		}
		if again, err := ParseThousandths(n.String()); err != nil || again != n {
			t.Fatalf("%q gives %s, which gives %s, %v", s, n, again, err)
		}
	})
}
