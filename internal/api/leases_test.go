package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALeaseCarriesWhatIsLeftOfTheDeadline(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.post("X-Request-Id: 18446744073709551615", "X-Attempt: 3", "X-Request-Timeout-Ms: 1000")
		r.post("Grpc-Timeout: 2S", "X-Request-Timeout-Ms: 1500.5")
		r.post()
		time.Sleep(50*time.Millisecond + 269*time.Microsecond + 1)
		l := r.lease(`{"worker":"w","workers":4,"want":3}`).leases(t)
		if len(l.Leases) != 3 {
			t.Fatalf("%d leases", len(l.Leases))
		}
		first := l.Leases[0]
		expect(t, "request", first.Request, "18446744073709551615")
		expect(t, "attempt", first.Attempt, 3)
		expect(t, "time left, rounded down", first.TimeoutMS, "949.73")
		expect(t, "the earliest of two", l.Leases[1].TimeoutMS, "1450.23")
		expect(t, "without a deadline", l.Leases[2].TimeoutMS, "")
		expect(t, "in service", l.Load.InService, 3)
		expect(t, "workers", l.Load.Workers, 4)
		if !wellFormed(first.Lease) || first.Lease == first.Operation {
			t.Errorf("lease %q of operation %q", first.Lease, first.Operation)
		}
	})
}

func TestAPollIsHeldUntilThereIsAUnit(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		got := r.lease(`{"worker":"w","want":4}`)
		expect(t, "status", got.status, 204)
		expect(t, "held for", got.at, 20_000*ms)
		answer := async(func() reply { return r.lease(`{"worker":"w","want":4}`) })
		time.Sleep(time.Second)
		r.post()
		got = <-answer
		expect(t, "leases", len(got.leases(t).Leases), 1)
		expect(t, "time", got.at, 21_000*ms)
	})
}

func TestIdlePollsAreServedInTheOrderOfTheirArrival(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		var answers []<-chan reply
		for i := range 5 {
			body := fmt.Sprintf(`{"worker":"w%d","want":1}`, i)
			answers = append(answers, async(func() reply { return r.lease(body) }))
		}
		expect(t, "polls", r.Gauges().Polls, 5)
		expect(t, "workers", r.Gauges().Workers, 5)
		for i, a := range answers {
			r.post(fmt.Sprintf("X-Request-Id: %d", i))
			synctest.Wait()
			select {
			case got := <-a:
				expect(t, "request", got.leases(t).Leases[0].Request, fmt.Sprint(i))
			default:
				t.Errorf("poll %d has nothing", i)
			}
		}
	})
}

func TestDoneAndTheNextLeaseAreOneRoundTrip(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for range 5 {
			r.post("X-Request-Timeout-Ms: 1000")
		}
		l := r.lease(`{"worker":"w","want":3}`).leases(t)
		body := `{"worker":"w","want":2,"done":[{"lease":"` + l.Leases[0].Lease + `","ok":true,"work_ms":50.1},{"lease":"` + l.Leases[2].Lease + `","ok":false}]}`
		next := r.lease(body).leases(t)
		expect(t, "next", len(next.Leases), 2)
		expect(t, "on time", r.totals().OnTime, 1)
		expect(t, "failed", r.totals().Failed, 1)
		expect(t, "work", r.totals().Work, 50100*time.Microsecond)
		// The same reports again, as after an answer that got lost, change nothing.
		expect(t, "again", r.lease(strings.Replace(body, `"want":2`, `"want":0`, 1)).status, 204)
		expect(t, "finished", r.totals().OnTime+r.totals().Failed, 2)
		expect(t, "stale", r.totals().Stale, 0)
	})
}

func TestALeaseThatRunsOutIsLostAndItsReportStale(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		answer := async(func() reply { return r.post("Prefer: wait=60") })
		r.post()
		lease := r.take()
		got := <-answer
		expect(t, "told", got.status, 502)
		expect(t, "time", got.at, 10_000*ms)
		expect(t, "lost", r.totals().Lost, 1)
		late := r.lease(`{"worker":"w","want":1,"done":[{"lease":"` + lease + `","ok":true,"work_ms":12000}]}`)
		expect(t, "late report", late.status, 409)
		if st := late.state(t); len(st.Stale) != 1 || st.Stale[0] != lease {
			t.Errorf("stale %q", st.Stale)
		}
		expect(t, "stale", r.totals().Stale, 1)
		expect(t, "wasted", r.totals().Wasted, 12*time.Second)
		expect(t, "lost once", r.totals().Lost, 1)
		expect(t, "finished", r.totals().Finished(), 0)
		expect(t, "reported a third time", r.finish(lease).status, 409)
		expect(t, "stale once", r.totals().Stale, 1)
		// A refusal carries no leases: the unit is still there.
		expect(t, "queued", r.Gauges().Queued, 1)
	})
}

func TestALeaseOfAnotherLifeIsStale(t *testing.T) {
	other, err := newIDs()
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, nil, func(r *rig) {
		got := r.finish(string(other.append(nil, leaseID, 1)))
		expect(t, "status", got.status, 409)
		r.post()
		operation := string(r.ids.append(nil, operationID, 1))
		expect(t, "an operation's id is no lease", r.finish(operation).status, 409)
	})
}

func TestHostileLeaseRequests(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		lease := strings.Repeat("a", 32)
		for _, c := range []struct {
			body   string
			status int
			names  string
		}{
			{``, 400, "body"},
			{`[]`, 400, "body"},
			{`{"worker":"w","want":1} {}`, 400, "something follows"},
			{`{"worker":"w","wants":1}`, 400, `unknown field \"wants\"`},
			{`{"want":1}`, 400, "worker"},
			{`{"worker":"` + strings.Repeat("w", 129) + `","want":1}`, 400, "worker"},
			{`{"worker":"w","want":-1}`, 400, "want"},
			{`{"worker":"w","want":10001}`, 400, "want"},
			{`{"worker":"w","want":1.5}`, 400, "want"},
			{`{"worker":"w","workers":-1}`, 400, "workers"},
			{`{"worker":"w","done":[{"lease":"x"}]}`, 400, "done[0].lease"},
			{`{"worker":"w","done":[{"lease":"` + strings.ToUpper(lease) + `"}]}`, 400, "done[0].lease"},
			{`{"worker":"w","done":[{"lease":"` + lease + `"},{"lease":"` + lease + `","work_ms":-1}]}`, 400, "done[1].work_ms"},
			{`{"worker":"w","done":[{"lease":"` + lease + `","work_ms":1e300}]}`, 400, "work_ms"},
			{`{"worker":"w","done":[{"lease":"` + lease + `","ok":"yes"}]}`, 400, "done.ok"},
			{`{"worker":"w","done":[` + strings.Repeat(`{},`, 10000) + `{}]}`, 400, "done"},
			{`{"worker":"w","done":[{"lease":"` + strings.Repeat("a", 3<<20) + `"}]}`, 413, "2097152"},
			{`{"worker":"w"}`, 204, ""},
		} {
			got := r.lease(c.body)
			if got.status != c.status || !strings.Contains(got.body, c.names) {
				t.Errorf("%.60q: %d %q, want %d with %q", c.body, got.status, got.body, c.status, c.names)
			}
		}
		expect(t, "get", r.must("GET", workersURL+"/v1/leases", "").status, 405)
		expect(t, "elsewhere", r.must("POST", workersURL+"/v1/operations", "").status, 404)
	})
}

func TestWorkersAreCountedWhileTheyLive(t *testing.T) {
	inBubble(t, func(c *Config) { c.Station.LeaseTimeout = 2 * time.Second }, func(r *rig) {
		ctx, kill := context.WithCancel(r.t.Context())
		go r.do(ctx, "POST", workersURL+"/v1/leases", `{"worker":"a","workers":4,"want":4}`)
		go r.do(r.t.Context(), "POST", workersURL+"/v1/leases", `{"worker":"b","workers":3,"want":1}`)
		synctest.Wait()
		expect(t, "workers", r.Gauges().Workers, 7)
		kill()
		time.Sleep(4 * time.Second)
		expect(t, "after one is silent", r.Gauges().Workers, 3)
		r.mu.Lock()
		expect(t, "told to the station", r.station.Load().Workers, 3)
		r.mu.Unlock()
		expect(t, "leave", r.lease(`{"worker":"b","leave":true}`).status, 204)
		expect(t, "after the other has left", r.Gauges().Workers, 0)
		expect(t, "polls", r.Gauges().Polls, 0)
	})
}

func TestTooManyWorkerProcesses(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for i := range maxMembers {
			r.lease(fmt.Sprintf(`{"worker":"w%d"}`, i))
		}
		got := r.lease(`{"worker":"one too many","want":1}`)
		expect(t, "status", got.status, 503)
		if !strings.Contains(got.body, "1024 worker processes") {
			t.Errorf("body %q", got.body)
		}
	})
}
