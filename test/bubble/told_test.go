package bubble_test

import (
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

// TestSilentAndToldDrops: a client that is told of a drop knows it when the server
// does; one that is not waits until its patience ends.
func TestSilentAndToldDrops(t *testing.T) {
	for _, silent := range []bool{true, false} {
		told := "server.silent_drops=false"
		if silent {
			told = "server.silent_drops=true"
		}
		t.Run(told, func(t *testing.T) {
			p := load(t, "deadline", append(small, told, "horizon=12s", "clients.users.retry.on=[timeout, refusal]")...)
			inBubble(t, p, func(s *system) {
				summary, _ := s.play(nil)
				conserved(t, summary)
				c := s.ledger.Totals().ClientTotals
				dropped := summary.Attempts.DroppedTotal
				if dropped < 1000 {
					t.Fatalf("%d units were dropped, too few", dropped)
				}
				want := dropped
				if silent {
					want = 0
				}
				within(t, "attempts that were told of their drop", c.Answered[work.Dropped], want, 0, 0)
				// Who waits in vain is either told or runs out of patience.
				within(t, "attempts without a result", c.Answered[work.Dropped]+c.Answered[work.TimedOut], c.Sent-c.Answered[work.Succeeded], 0, float64(summary.Conservation.InFlight))
			})
		})
	}
}

// TestRetryAfterIsHonoured: who is asked to stay away for two seconds does so; who
// ignores it comes back after the pause of its own.
func TestRetryAfterIsHonoured(t *testing.T) {
	for _, c := range []struct {
		mode  string
		pause time.Duration // between a refusal and the next attempt, at least
	}{{"honour", 2 * time.Second}, {"ignore", 250 * time.Millisecond}} {
		t.Run(c.mode, func(t *testing.T) {
			p := load(t, "fifo", append(small, "server.door={kind: queue_limit, limit: 15}", "server.retry_after=2s", "server.silent_drops=false",
				"clients.users.retry={attempts: 50, on: [timeout, refusal], backoff: {kind: fixed, base: 250ms}, retry_after: "+c.mode+"}")...)
			inBubble(t, p, func(s *system) {
				s.tap.on.Store(true)
				summary, _ := s.play(nil)
				conserved(t, summary)
				again := 0
				starts, _ := s.tap.seen()
				last := map[string]start{}
				for _, a := range starts {
					before, ok := last[a.request]
					last[a.request] = a
					if !ok || before.status != 503 {
						continue
					}
					again++
					if before.retryAfter != "2" {
						t.Fatalf("the refusal asks for %q seconds, want 2", before.retryAfter)
					}
					if pause := a.at.Sub(before.answered); pause != c.pause {
						t.Errorf("request %s came back %v after its refusal, want %v", a.request, pause, c.pause)
					}
				}
				if again < 100 {
					t.Errorf("%d attempts followed a refusal, too few", again)
				}
				if share := summary.GoodputShare; share < 0.97 {
					t.Errorf("goodput share %.3f behind a short queue", share)
				}
			})
		})
	}
}

// TestDoNotRetryEndsTheRequest: a refusal that asks not to be tried again is the
// last that the server sees of the request.
func TestDoNotRetryEndsTheRequest(t *testing.T) {
	p := load(t, "fifo", append(small, "server.door={kind: queue_limit, limit: 15}", "server.do_not_retry=true",
		"clients.users.retry={attempts: 50, on: [refusal]}")...)
	inBubble(t, p, func(s *system) {
		summary, _ := s.play(nil)
		conserved(t, summary)
		refused := summary.Attempts.Refused[work.QueueFull.String()]
		if ended := s.ledger.Totals().Ended[ledger.EndGaveUpAttempts]; refused < 100 || ended != refused {
			t.Errorf("%d refusals, and %d requests that ended of one", refused, ended)
		}
		if summary.Amplification != 1 {
			t.Errorf("%v attempts a request", summary.Amplification)
		}
	})
}
