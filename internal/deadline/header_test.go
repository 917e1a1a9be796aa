package deadline

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var received = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name   string
		h      http.Header
		left   time.Duration
		source string
	}{
		{"native", header(Header, "949.731"), 949731 * time.Microsecond, Header},
		{"any spelling", header("x-request-timeout-ms", "5"), 5 * time.Millisecond, Header},
		{"zero is over", header(Header, "0"), 0, Header},
		{"ceiling", header(Header, "3600001"), time.Hour, Header},
		{"ceiling, far", header(Header, "999999999999"), time.Hour, Header},
		{"grpc milliseconds", header("grpc-timeout", "950m"), 950 * time.Millisecond, HeaderGRPC},
		{"grpc micro", header("grpc-timeout", "1500u"), 1500 * time.Microsecond, HeaderGRPC},
		{"grpc nano", header("grpc-timeout", "99999999n"), 99999999, HeaderGRPC},
		{"grpc seconds", header("grpc-timeout", "2S"), 2 * time.Second, HeaderGRPC},
		{"grpc minutes", header("grpc-timeout", "3M"), 3 * time.Minute, HeaderGRPC},
		{"grpc hours, overflow", header("grpc-timeout", "99999999H"), time.Hour, HeaderGRPC},
		{"grpc zero", header("grpc-timeout", "0n"), 0, HeaderGRPC},
		{"connect", header("Connect-Timeout-Ms", "9999999999"), time.Hour, HeaderConnect},
		{"envoy", header("x-envoy-expected-rq-timeout-ms", "250"), 250 * time.Millisecond, HeaderEnvoy},
		{"absolute", header(HeaderAbsolute, "2026-01-02T15:04:05.25Z"), 250 * time.Millisecond, HeaderAbsolute},
		{"absolute elsewhere", header(HeaderAbsolute, "2026-01-02T16:04:06+01:00"), time.Second, HeaderAbsolute},
		{"absolute, past", header(HeaderAbsolute, "2025-01-02T15:04:05Z"), 0, HeaderAbsolute},
		{"absolute, far", header(HeaderAbsolute, "9999-12-31T23:59:59Z"), time.Hour, HeaderAbsolute},
		{"earliest wins", header(Header, "900", HeaderGRPC, "800m", HeaderConnect, "700", HeaderEnvoy, "600", HeaderAbsolute, "2026-01-02T15:04:06Z"), 600 * time.Millisecond, HeaderEnvoy},
		{"earliest wins, absolute", header(Header, "900", HeaderAbsolute, "2026-01-02T15:04:05.1Z"), 100 * time.Millisecond, HeaderAbsolute},
		{"earliest wins over the ceiling", header(Header, "7200000", HeaderEnvoy, "10"), 10 * time.Millisecond, HeaderEnvoy},
	} {
		d, ok, err := Parse(c.h, received)
		if err != nil || !ok || d.Left != c.left || d.Source != c.source || !d.At().Equal(received.Add(c.left)) {
			t.Errorf("%s: %+v, %v, %v; want %v by %s", c.name, d, ok, err, c.left, c.source)
		}
		if d.Expired() != (c.left == 0) {
			t.Errorf("%s: expired is %v", c.name, d.Expired())
		}
		if (d.Skew != nil) != (c.h.Get(HeaderAbsolute) != "") {
			t.Errorf("%s: skew warning is %v", c.name, d.Skew)
		}
	}
	if d, ok, err := Parse(header("X-Other", "1"), received); ok || err != nil || d.Source != "" {
		t.Errorf("without a deadline: %+v, %v, %v", d, ok, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		h       http.Header
		name    string
		allowed string
	}{
		{header(Header, "-1"), Header, "up to 3 decimals"},
		{header(Header, "1.2345"), Header, "up to 3 decimals"},
		{header(Header, ""), Header, "up to 3 decimals"},
		{header(Header, "1s"), Header, "up to 3 decimals"},
		{header(Header, "5, 5"), Header, "up to 3 decimals"},
		{header(Header, "1000000000000"), Header, "up to 12 digits"},
		{header(Header, "5", Header, "5"), Header, "allowed is one"},
		{header(Header, strings.Repeat("0", 65)), Header, "allowed are up to 64"},
		{header(HeaderGRPC, "950"), HeaderGRPC, "H, M, S, m, u, n"},
		{header(HeaderGRPC, "m"), HeaderGRPC, "H, M, S, m, u, n"},
		{header(HeaderGRPC, ""), HeaderGRPC, "H, M, S, m, u, n"},
		{header(HeaderGRPC, "-5m"), HeaderGRPC, "H, M, S, m, u, n"},
		{header(HeaderGRPC, "5s"), HeaderGRPC, "H, M, S, m, u, n"},
		{header(HeaderGRPC, "123456789m"), HeaderGRPC, "up to 8 digits"},
		{header(HeaderConnect, "1.5"), HeaderConnect, "up to 10 digits"},
		{header(HeaderConnect, "12345678901"), HeaderConnect, "up to 10 digits"},
		{header(HeaderEnvoy, "abc"), HeaderEnvoy, "up to 12 digits"},
		{header(HeaderAbsolute, "tomorrow"), HeaderAbsolute, "RFC 3339"},
		{header(HeaderAbsolute, "2026-01-02 15:04:05Z"), HeaderAbsolute, "RFC 3339"},
		{header(HeaderAbsolute, "2026-01-02T5:04:05Z"), HeaderAbsolute, "RFC 3339"},
		{header(HeaderAbsolute, "2026-01-02T15:04:05,5Z"), HeaderAbsolute, "RFC 3339"},
		{header(HeaderAbsolute, "2026-01-02T15:04:05+24:00"), HeaderAbsolute, "RFC 3339"},
		{header(HeaderAbsolute, "2026-13-02T15:04:05Z"), HeaderAbsolute, "RFC 3339"},
		{header(HeaderAbsolute, ""), HeaderAbsolute, "RFC 3339"},
		// A good header does not make up for a bad one.
		{header(Header, "5", HeaderAbsolute, "x"), HeaderAbsolute, "RFC 3339"},
		{header(Header, "5", HeaderEnvoy, "-5"), HeaderEnvoy, "digits"},
	} {
		d, ok, err := Parse(c.h, received)
		var bad *HeaderError
		if !errors.As(err, &bad) || bad.Header != c.name || !strings.HasPrefix(err.Error(), c.name+": ") || !strings.Contains(err.Error(), c.allowed) {
			t.Errorf("%v: %v; want an error for %s with %q", c.h, err, c.name, c.allowed)
		}
		if ok || d.Source != "" {
			t.Errorf("%v: %+v, %v beside the error", c.h, d, ok)
		}
	}
}

func TestSkewWarning(t *testing.T) {
	d, _, err := Parse(header(Header, "900", HeaderAbsolute, "2026-01-02T15:04:15Z"), received)
	if err != nil || d.Left != 900*time.Millisecond {
		t.Fatalf("%+v, %v", d, err)
	}
	want := Skew{Absolute: 10 * time.Second, Relative: 900 * time.Millisecond, HasRelative: true}
	if *d.Skew != want || !strings.Contains(d.Skew.String(), "9.1s") {
		t.Errorf("skew is %+v: %v", *d.Skew, d.Skew)
	}
	d, _, _ = Parse(header(HeaderAbsolute, "2026-01-02T15:04:00Z"), received)
	if d.Skew.Absolute != -5*time.Second || d.Skew.HasRelative || !strings.Contains(d.Skew.String(), "-5s") {
		t.Errorf("skew is %+v: %v", *d.Skew, d.Skew)
	}
}

func TestRemainingNeverExceedsWhatWasReceived(t *testing.T) {
	d := Deadline{Left: time.Second, Received: received}
	for offset, want := range map[time.Duration]time.Duration{
		-time.Minute: time.Second, 0: time.Second, 400 * time.Millisecond: 600 * time.Millisecond,
		time.Second: 0, time.Hour: 0,
	} {
		if got := d.Remaining(received.Add(offset)); got != want {
			t.Errorf("%v after the receipt %v remain, want %v", offset, got, want)
		}
	}
}

func TestSetLeavesOneDeadline(t *testing.T) {
	h := header(Header, "1", Header, "2", HeaderGRPC, "1S", HeaderConnect, "5", HeaderEnvoy, "6", HeaderAbsolute, "2026-01-02T15:04:05Z", "X-Other", "kept")
	Set(h, 1500*time.Microsecond+999)
	if len(h) != 2 || h.Get("X-Other") != "kept" || len(h.Values(Header)) != 1 || h.Get(Header) != "1.5" {
		t.Errorf("headers are %v", h)
	}
	Set(h, 2*time.Hour)
	if h.Get(Header) != "3600000" {
		t.Errorf("two hours are sent as %q", h.Get(Header))
	}
}

func TestShrinkTakesTheEarlier(t *testing.T) {
	for _, c := range []struct {
		h    http.Header
		left time.Duration
		want string
	}{
		{header(), time.Second, "1000"},
		{header(Header, "900"), time.Second, "900"},
		{header(Header, "900"), 100 * time.Millisecond, "100"},
		{header(HeaderGRPC, "1m"), time.Second, "1"},
		{header(), -time.Second, "0"},
	} {
		sent, err := Shrink(c.h, c.left, received)
		if got := c.h.Get(Header); err != nil || got != c.want || Format(sent) != c.want {
			t.Errorf("sent %q (%v), %v; want %q", got, sent, err, c.want)
		}
	}
	if _, err := Shrink(header(Header, "x"), time.Second, received); err == nil {
		t.Error("a header that cannot be read was sent on")
	}
}

// A deadline that is rounded up grows at every hop.
func TestTrapDeadlineGrowsAtEveryHop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "left"))
		now, spent, first := received, time.Duration(0), left
		for range rapid.IntRange(1, 20).Draw(t, "hops") {
			h := http.Header{}
			if _, err := Shrink(h, left, now); err != nil {
				t.Fatal(err)
			}
			d, ok, err := Parse(h, now)
			if !ok || err != nil {
				t.Fatalf("%v: %v, %v", h, ok, err)
			}
			step := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "spent"))
			now, spent = now.Add(step), spent+step
			left = d.Remaining(now)
			if left > max(0, first-spent) {
				t.Fatalf("%v left after %v of %v", left, spent, first)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range [][5]string{
		{"949.731", "", "", "", ""}, {"", "950m", "", "", ""}, {"", "", "950", "", ""}, {"", "", "", "950", ""},
		{"", "", "", "", "2026-01-02T15:04:06.5Z"}, {"1", "1n", "1", "1", "2026-01-02T15:04:05Z"}, {"-1", "99999999H", "x", "1e3", "0000-00-00T00:00:00Z"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Fuzz(func(t *testing.T, native, grpc, connect, envoy, absolute string) {
		h := http.Header{}
		for name, value := range map[string]string{Header: native, HeaderGRPC: grpc, HeaderConnect: connect, HeaderEnvoy: envoy, HeaderAbsolute: absolute} {
			if value != "" {
				h.Set(name, value)
			}
		}
		d, ok, err := Parse(h, received)
		if err != nil {
			var bad *HeaderError
			if !errors.As(err, &bad) || h.Values(bad.Header) == nil || len(err.Error()) > 512 {
				t.Fatalf("%v: %v", h, err)
			}
			return
		}
		if ok != (len(h) > 0) || d.Left < 0 || d.Left > Ceiling {
			t.Fatalf("%v: %+v, %v", h, d, ok)
		}
		if !ok {
			return
		}
		sent, err := Shrink(h, d.Remaining(received), received)
		again, _, err2 := Parse(h, received)
		if err != nil || err2 != nil || sent > d.Left || again.Left > d.Left || again.Skew != nil {
			t.Fatalf("%v left arrive as %v: %v, %v", d.Left, again.Left, err, err2)
		}
	})
}

func TestNamesAreCanonical(t *testing.T) {
	for _, name := range []string{Header, HeaderGRPC, HeaderConnect, HeaderEnvoy, HeaderAbsolute, HeaderRetryAfter} {
		if want := http.CanonicalHeaderKey(name); name != want {
			t.Errorf("%s: the canonical form is %s", name, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	h := header(Header, "949.731", "Content-Type", "application/json", "X-Attempt", "1")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := Parse(h, received); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
