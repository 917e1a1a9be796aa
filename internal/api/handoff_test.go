package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/queue"
	"shedload/internal/station"
	"shedload/internal/work"
	"shedload/test/bubble"
)

func TestACanceledPollGetsNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		ctx, leave := context.WithCancel(r.t.Context())
		go r.do(ctx, "POST", workersURL+"/v1/leases", `{"worker":"dead","want":1}`)
		synctest.Wait()
		alive := async(func() reply { return r.lease(`{"worker":"w","want":1}`) })
		leave()
		synctest.Wait()
		expect(t, "polls", r.Gauges().Polls, 1)
		r.post()
		expect(t, "leases", len((<-alive).leases(t).Leases), 1)
		expect(t, "lost", r.totals().Lost, 0)
	})
}

// TestAHandOffToADyingPollIsLostOnce closes the connection between the take and the answer.
func TestAHandOffToADyingPollIsLostOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.post()
		ctx, cancel := context.WithCancel(r.t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", "/v1/leases", strings.NewReader(`{"worker":"w","want":1}`))
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := readLeaseRequest(nil, req)
		if err != nil {
			t.Fatal(err)
		}
		turned := r.turn(req, decoded)
		expect(t, "in service", r.Gauges().InService, 1)
		cancel()
		expect(t, "answered", r.idlePoll(turned.poll), false)
		expect(t, "lost", r.totals().Lost, 1)
		expect(t, "broken hand-offs", r.Gauges().Counts.Broken, 1)
		time.Sleep(time.Minute) // the lease would have run out
		expect(t, "lost at last", r.totals().Lost, 1)
	})
}

// TestNoUnitIsLostInAHandOff lets polls come, go and be served at random; every
// unit must end exactly once, and only as finished, lost in a hand-off that
// really broke, or still queued.
func TestNoUnitIsLostInAHandOff(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var patience []time.Duration
		for range rapid.IntRange(1, 30).Draw(rt, "polls") {
			patience = append(patience, time.Duration(rapid.IntRange(0, 5).Draw(rt, "patience"))*time.Millisecond)
		}
		arrivals := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 40).Draw(rt, "arrivals")
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil)
			defer r.close()
			var wg sync.WaitGroup
			for i, p := range patience {
				wg.Go(func() { r.worker(fmt.Sprint("w", i), p) })
			}
			for _, at := range arrivals {
				wg.Go(func() {
					time.Sleep(time.Duration(at) * time.Millisecond)
					r.post()
				})
			}
			wg.Wait()
			time.Sleep(time.Minute) // what was leased and not reported is lost by now
			got := r.totals()
			expect(t, "arrived", got.Arrived, int64(len(arrivals)))
			expect(t, "accounted", got.Finished()+got.Lost+int64(r.Gauges().Queued), got.Arrived)
			r.conserved()
		})
	})
}

// worker polls once with little patience; what it gets it finishes, over
// connections of its own: net/http may tell a request of the cancellation of
// the one before it on the same connection.
func (r *rig) worker(name string, patience time.Duration) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	got, err := r.do(ctx, "POST", workersURL+"/v1/leases", `{"worker":"`+name+`","want":2}`)
	if err != nil {
		return
	}
	reports := *r
	reports.client = r.reports
	for _, l := range got.leases(r.t).Leases {
		reports.finish(l.Lease)
	}
}

// TestHandOffsRace is the same with real threads, for the race detector.
func TestHandOffsRace(t *testing.T) {
	s, err := New(Config{Station: station.Config{Queue: queue.Config{Discipline: discipline(t, "fifo")}, LeaseTimeout: time.Second}, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	n := bubble.NewNet()
	l, err := n.Listen("workers:80")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: s.Workers()}
	defer srv.Close()
	go srv.Serve(l)
	newClient := func() *http.Client { return &http.Client{Transport: &http.Transport{DialContext: n.Dial}} }
	r := &rig{Server: s, t: t, client: newClient(), reports: newClient()}
	defer r.client.CloseIdleConnections()
	defer r.reports.CloseIdleConnections()
	const units, workers = 2000, 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range units / workers * 2 {
				r.worker(fmt.Sprint("w", w), time.Duration(i%7)*50*time.Microsecond)
			}
		})
	}
	for i := range units {
		s.arrive(attempt{request: uint64(i), named: true, attempt: 1, deadline: work.Never}, key{}, s.clock())
	}
	wg.Wait()
	s.Shutdown(t.Context())
	got := r.totals()
	expect(t, "arrived", got.Arrived, units)
	expect(t, "accounted", got.Done(), units)
	conserved(t, s)
}
