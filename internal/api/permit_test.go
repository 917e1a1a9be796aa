package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shedload/internal/admit"
	"shedload/internal/ledger"
	"shedload/internal/queue"
	"shedload/internal/station"
	"shedload/internal/work"
)

// permits counts what holds a permit of the door: queued, or in service.
type permits struct{ now, most int64 }

func (p *permits) observe(e ledger.Event) {
	switch e.Kind {
	case ledger.Queued:
		p.now++
		p.most = max(p.most, p.now)
	case ledger.Finished, ledger.Broke, ledger.Lost, ledger.Dropped:
		p.now--
	case ledger.Canceled:
		if !e.Door {
			p.now--
		}
	}
}

// TestALimiterNeverLosesAPermit sends 100,000 requests to a door with four places, by
// way of the handlers. Clients cancel, give up after a fraction of a millisecond, or
// delete their operation, while waits at the door run out and workers take over,
// die, and report. The limit is never exceeded, nothing is in flight at the end, and
// all places can be had again.
func TestALimiterNeverLosesAPermit(t *testing.T) {
	for _, c := range []struct {
		door        string
		requests    int
		most, again int64 // permits: at most, and at the end
	}{
		{"concurrency:4,wait=500us", 100_000, 4, 4},
		{"bulkheads:4,wait=500us", 20_000, 4, 4},
		{"in_system:4", 20_000, 4, 4},
		{"aimd:4,floor=2,ceiling=4", 20_000, 4, 2}, // what was dropped has taught it to be careful
	} {
		t.Run(c.door, func(t *testing.T) {
			var door admit.Spec
			if err := door.UnmarshalText([]byte(c.door)); err != nil {
				t.Fatal(err)
			}
			var held permits
			s := racer(t, door, held.observe)
			stop := s.employ(6)
			s.besiege(c.requests)
			s.settle()
			stop()
			got := s.LedgerView(0)
			if held.most > c.most {
				t.Errorf("%d held a permit at once, %d are allowed", held.most, c.most)
			}
			if held.now != 0 || got.Totals[0].Pending() != 0 {
				t.Errorf("%d permits are out, %d operations pending: want none", held.now, got.Totals[0].Pending())
			}
			for i := range c.again {
				if w := s.post(t.Context(), ""); w.Code != http.StatusAccepted {
					t.Errorf("place %d of %d is lost: %d %s", i+1, c.again, w.Code, w.Body)
				}
			}
			n := got.Totals[0]
			t.Logf("%d arrived: %d finished, %d refused, %d canceled, %d lost, %d dropped", n.Arrived, n.Finished(), n.Refused.Sum(), n.Canceled, n.Lost, n.Dropped.Sum())
			for what, count := range map[string]int64{"finished": n.Finished(), "refused": n.Refused.Sum(), "canceled": n.Canceled} {
				if count == 0 {
					t.Errorf("none was %s: the race was not run", what)
				}
			}
		})
	}
}

// siege is a server that is asked through its handlers, without a network.
type siege struct {
	*Server
	t               *testing.T
	public, workers http.Handler
}

func racer(t *testing.T, door admit.Spec, observe func(ledger.Event)) siege {
	t.Helper()
	s, err := New(Config{
		Station: station.Config{
			Queue: queue.Config{Discipline: discipline(t, "fifo+expired")}, Door: door, LeaseTimeout: 50 * time.Millisecond,
			Classes: []work.Class{{Name: "all"}},
		},
		CancelAbandoned: true, Observe: observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-running; err != nil {
			t.Error(err)
		}
	})
	return siege{s, t, s.Public(), s.Workers()}
}

func (s siege) do(ctx context.Context, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// post starts an operation; prefer is a wait, or nothing.
func (s siege) post(ctx context.Context, prefer string, headers ...string) *httptest.ResponseRecorder {
	if prefer != "" {
		headers = append(headers, "Prefer", prefer)
	}
	return s.do(ctx, s.public, http.MethodPost, operationsPath, "", headers...)
}

// besiege has clients of all kinds send so many requests in all.
func (s siege) besiege(requests int) {
	const clients = 32
	var clientsDone sync.WaitGroup
	var sent atomic.Int64
	for range clients {
		clientsDone.Go(func() {
			for i := sent.Add(1); i <= int64(requests); i = sent.Add(1) {
				s.client(i)
			}
		})
	}
	clientsDone.Wait()
}

// client makes request i in one of the ways that race with a hand-over. The
// instants go through a range of some 700 µs in small steps.
func (s siege) client(i int64) {
	soon := time.Duration(i*37%700) * time.Microsecond
	switch i % 4 {
	case 0: // leaves
		ctx, cancel := context.WithTimeout(s.t.Context(), soon)
		defer cancel()
		s.post(ctx, "wait=1", "X-Request-Timeout-Ms", "900")
	case 1: // runs out of patience
		s.post(s.t.Context(), "wait=1", "X-Request-Timeout-Ms", fmt.Sprintf("0.%03d", soon.Microseconds()+1))
	case 2: // deletes its operation
		if w := s.post(s.t.Context(), "", "X-Request-Timeout-Ms", "900"); w.Code == http.StatusAccepted {
			s.do(s.t.Context(), s.public, http.MethodDelete, w.Header().Get("Location"), "")
		}
	default: // waits
		s.post(s.t.Context(), "wait=1", "X-Request-Timeout-Ms", "900")
	}
}

// employ starts workers, and returns what ends them. One report in a hundred is never made.
func (s siege) employ(n int) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			done := ""
			for turn := 0; ctx.Err() == nil; turn++ {
				poll, end := context.WithTimeout(ctx, time.Duration(turn%5+1)*time.Millisecond)
				w := s.do(poll, s.workers, http.MethodPost, leasesPath, fmt.Sprintf(`{"worker":"w%d","want":1,"done":[%s]}`, i, done))
				end()
				var granted struct{ Leases []struct{ Lease string } }
				if done = ""; w.Code == http.StatusOK && json.Unmarshal(w.Body.Bytes(), &granted) == nil && len(granted.Leases) > 0 && turn%100 != 99 {
					done = fmt.Sprintf(`{"lease":%q,"ok":true,"work_ms":0.1}`, granted.Leases[0].Lease)
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// settle waits until nothing is under way: the workers work off what is queued, and
// what nobody reports is lost.
func (s siege) settle() {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		if g := s.Gauges(); g.AtDoor+g.Queued+g.InService == 0 {
			return
		}
	}
	s.t.Errorf("still under way: %+v", s.Gauges())
}
