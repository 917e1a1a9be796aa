package bubble_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"shedload/internal/deadline"
)

// TestTheDeadlineReachesTheBackend follows each attempt from the client's header to
// the lease. What a hop is told is what is left of the client's patience then,
// rounded down to the microsecond, and never more.
func TestTheDeadlineReachesTheBackend(t *testing.T) {
	for _, c := range []struct{ wait, protocol string }{{"post", "h1"}, {"close", "h1"}, {"poll", "h1"}, {"post", "h2c"}, {"poll", "h2c"}} {
		t.Run(c.wait+" "+c.protocol, func(t *testing.T) {
			const patience = 800*time.Millisecond + 123456*time.Nanosecond // no whole number of the header's units
			p := load(t, "fifo", append(small, "horizon=6s", "clients.users.patience="+patience.String(),
				"clients.users.wait="+c.wait, "clients.users.protocol="+c.protocol)...)
			inBubble(t, p, func(s *system) {
				s.tap.on.Store(true)
				summary, _ := s.play(nil)
				conserved(t, summary)
				starts, leases := s.tap.seen()
				ends := clientDeadlines(t, starts, patience)
				dead := 0
				for _, l := range leases {
					left := wire(t, l.TimeoutMS)
					really := max(0, ends[l.Request+" "+strconv.Itoa(l.Attempt)].Sub(l.at))
					if left > really || really-left > time.Microsecond+rounded {
						t.Errorf("request %s attempt %d: the backend was told %v, the client has %v left", l.Request, l.Attempt, left, really)
					}
					if left == 0 {
						dead++
					}
				}
				if dead == 0 || dead == len(leases) {
					t.Errorf("%d of %d leases were for clients that had gone: the test shows nothing", dead, len(leases))
				}
			})
		})
	}
}

// rounded is how much the first hop's rounding takes away.
const rounded = time.Microsecond

// clientDeadlines checks what clients said and returns when each attempt's patience
// ends. In a bubble an attempt leaves at its intended instant.
func clientDeadlines(t *testing.T, starts []start, patience time.Duration) map[string]time.Time {
	t.Helper()
	ends := map[string]time.Time{}
	for _, a := range starts {
		if left := wire(t, a.timeout); left != patience.Truncate(time.Microsecond) {
			t.Errorf("request %s attempt %s says that %v are left of %v", a.request, a.attempt, left, patience)
		}
		ends[a.request+" "+a.attempt] = a.at.Add(patience)
	}
	if len(ends) < 300 {
		t.Fatalf("%d attempts, too few", len(ends))
	}
	return ends
}

// wire reads a time left as headers and leases have it: at most three decimals.
func wire(t *testing.T, text string) time.Duration {
	t.Helper()
	left, err := deadline.ParseMs(text)
	_, decimals, _ := strings.Cut(text, ".")
	if err != nil || len(decimals) > 3 {
		t.Errorf("time left %q: %v", text, err)
	}
	return left
}
