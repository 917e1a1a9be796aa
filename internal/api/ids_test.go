package api

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIDs(t *testing.T) {
	mine, err := newIDs()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := newIDs()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		sequence := rapid.Uint64().Draw(t, "sequence")
		name := string(mine.append(nil, operationID, sequence))
		if got, ok := mine.parse(operationID, name); !ok || got != sequence || len(name) != idLength {
			t.Fatalf("%d became %q became %d, %v", sequence, name, got, ok)
		}
		if _, ok := mine.parse(leaseID, name); ok {
			t.Fatal("an operation's id is taken for a lease")
		}
		if _, ok := foreign.parse(operationID, name); ok {
			t.Fatal("an id of another process is taken for one of ours")
		}
		if next := string(mine.append(nil, operationID, sequence+1)); next[:8] == name[:8] && next[24:] == name[24:] {
			t.Fatalf("neighbours look alike: %q, %q", name, next)
		}
	})
}

func FuzzIDs(f *testing.F) {
	i, err := newIDs()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("00000000000000000000000000000000")
	f.Add("0000000000000000000000000000000G")
	f.Fuzz(func(t *testing.T, name string) {
		if sequence, ok := i.parse(leaseID, name); ok {
			t.Fatalf("%q was guessed: %d", name, sequence)
		}
	})
}

func FuzzPrefer(f *testing.F) {
	for _, seed := range []string{"wait=1", "wait=0.5", `wait="10"`, "respond-async, wait=100", "WAIT=1;x=y", `x="a,b", wait=1`, "wait=", ",,,", `"`, "wait=1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, err := parsePrefer([]string{value})
		if d < 0 || d > time.Hour+time.Second || (err != nil && d != 0) {
			t.Fatalf("%q: %v, %v", value, d, err)
		}
	})
}

func TestPrefer(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   time.Duration
	}{
		{nil, 0},
		{[]string{"wait=1"}, time.Second},
		{[]string{"wait=0.25"}, 250 * time.Millisecond},
		{[]string{`wait="10"`}, 10 * time.Second},
		{[]string{"respond-async, WAIT = 2 ; note=x"}, 2 * time.Second},
		{[]string{"respond-async", "wait=3"}, 3 * time.Second},
		{[]string{"wait=4, wait=5"}, 4 * time.Second},
		{[]string{`x="wait=9,wait=8", wait=6`}, 6 * time.Second},
		{[]string{"wait=999999999"}, time.Hour},
		{[]string{"waiting=5"}, 0},
	} {
		got, err := parsePrefer(c.values)
		if err != nil || got != c.want {
			t.Errorf("%q: %v, %v, want %v", c.values, got, err, c.want)
		}
	}
}
