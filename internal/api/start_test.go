package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/admit"
	"shedload/internal/work"
)

const ms = work.Instant(time.Millisecond)

func TestAPostWithoutAWaitIsAcceptedAtOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		got := r.post("X-Request-Id: 7", "X-Attempt: 2", "X-Request-Timeout-Ms: 1000")
		expect(t, "status", got.status, 202)
		expect(t, "time", got.at, 0)
		st := got.state(t)
		expect(t, "state", st.State, "pending")
		expect(t, "location", got.header.Get("Location"), "/v1/operations/"+st.ID)
		expect(t, "type", got.header.Get("Content-Type"), "application/json")
	})
}

func TestAWaitingPostIsAnsweredWhenItsWorkIsDone(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		answer := async(func() reply { return r.post("X-Request-Timeout-Ms: 1000", "Prefer: wait=5") })
		time.Sleep(100 * time.Millisecond)
		lease := r.take()
		time.Sleep(50 * time.Millisecond)
		expect(t, "report", r.finish(lease).status, 204)
		got := <-answer
		expect(t, "status", got.status, 200)
		expect(t, "time", got.at, 150*ms)
		st := got.state(t)
		expect(t, "state", st.State, "done")
		expect(t, "waited", st.Waited, 100)
		expect(t, "finished in", *st.FinishedIn, 150)
		expect(t, "on time", r.totals().OnTime, 1)
	})
}

func TestAWaitEndsAtTheEarlierOfWaitAndDeadline(t *testing.T) {
	for _, c := range []struct {
		name, wait, timeout string
		at                  work.Instant
	}{
		{"deadline first", "5", "949.731", 949731 * 1000},
		{"wait first", "0.25", "1000", 250 * ms},
		{"no deadline", "3", "", 3000 * ms},
		{"deadline at the wait", "1", "1000", 1000 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				headers := []string{"Prefer: wait=" + c.wait}
				if c.timeout != "" {
					headers = append(headers, "X-Request-Timeout-Ms: "+c.timeout)
				}
				got := r.post(headers...)
				expect(t, "status", got.status, 202)
				expect(t, "time", got.at, c.at)
				expect(t, "state", got.state(t).State, "pending")
			})
		})
	}
}

func TestAnAnswerAtTheDeadlineIsOnTime(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		answer := async(func() reply { return r.post("X-Request-Timeout-Ms: 1000", "Prefer: wait=1") })
		lease := r.take()
		time.Sleep(time.Second)
		r.finish(lease)
		// Timer and report come at one instant: either is told, but the ledger is exact.
		if got := <-answer; got.status != 200 && got.status != 202 {
			t.Errorf("status %d", got.status)
		}
		expect(t, "on time", r.totals().OnTime, 1)
		expect(t, "late", r.totals().Late, 0)
	})
}

func TestADropIsToldAtOnce(t *testing.T) {
	inBubble(t, func(c *Config) {
		c.Station.Queue.Discipline = discipline(t, "deadline(70ms)")
		c.Station.RetryAfter, c.Station.DoNotRetry = 1500*time.Millisecond, true
	}, func(r *rig) {
		answer := async(func() reply { return r.post("X-Request-Timeout-Ms: 1000", "Prefer: wait=1") })
		time.Sleep(950 * time.Millisecond)
		poll, cancel := context.WithCancel(r.t.Context())
		go r.do(poll, "POST", workersURL+"/v1/leases", `{"worker":"w","want":1}`)
		got := <-answer
		cancel()
		expect(t, "status", got.status, 503)
		expect(t, "time", got.at, 950*ms)
		st := got.state(t)
		expect(t, "reason", st.Reason, "doomed")
		expect(t, "waited", st.Waited, 950)
		expect(t, "problem status", st.Status, 503)
		expect(t, "retry after", got.header.Get("Retry-After"), "2") // rounded up
		expect(t, "do not retry", got.header.Get("X-Do-Not-Retry"), "true")
		expect(t, "type", got.header.Get("Content-Type"), "application/problem+json")
		expect(t, "dropped", r.totals().Dropped[work.Doomed], 1)
	})
}

func TestASilentDropIsNotToldBeforeTheDeadline(t *testing.T) {
	inBubble(t, func(c *Config) {
		c.Station.Queue.Discipline = discipline(t, "deadline(70ms)")
		c.SilentDrops = true
	}, func(r *rig) {
		answer := async(func() reply { return r.post("X-Request-Timeout-Ms: 1000", "Prefer: wait=1") })
		second := r.post("X-Request-Timeout-Ms: 1000")
		time.Sleep(950 * time.Millisecond)
		go r.lease(`{"worker":"w","want":1}`)
		synctest.Wait()
		expect(t, "dropped", r.totals().Dropped[work.Doomed], 2)
		look := func() string { return r.must("GET", publicURL+second.header.Get("Location"), "").state(t).State }
		expect(t, "state before the deadline", look(), "pending")
		got := <-answer
		expect(t, "status", got.status, 202)
		expect(t, "time", got.at, 1000*ms)
		expect(t, "state after the deadline", look(), "failed")
		time.Sleep(30 * time.Second) // the poll's end
	})
}

func TestRefusalsAtTheDoor(t *testing.T) {
	inBubble(t, func(c *Config) { c.Station.Door = admit.Spec{Kind: admit.QueueLimit, Limit: 1} }, func(r *rig) {
		r.post()
		got := r.post("Prefer: wait=5", "X-Request-Timeout-Ms: 1000")
		expect(t, "status", got.status, 503)
		expect(t, "reason", got.state(t).Reason, "queue_full")
		expect(t, "retry after", got.header.Get("Retry-After"), "0")
		expect(t, "location", got.header.Get("Location"), "")
		expect(t, "refused", r.totals().Refused[work.QueueFull], 1)
		expect(t, "records", r.Gauges().Operations, 1) // a refusal leaves nothing behind
	})
}

func TestAWaitAtTheDoorEndsInARefusal(t *testing.T) {
	inBubble(t, func(c *Config) {
		c.Station.Door = admit.Spec{Kind: admit.Concurrency, Limit: 1, Wait: 30 * time.Millisecond}
	}, func(r *rig) {
		r.post()
		got := r.post("Prefer: wait=5", "X-Request-Timeout-Ms: 1000")
		expect(t, "status", got.status, 503)
		expect(t, "time", got.at, 30*ms)
		expect(t, "waited", got.state(t).Waited, 30)
		expect(t, "reason", got.state(t).Reason, "concurrency")

		// One that gets in while it waits is served.
		lease := r.take()
		answer := async(func() reply { return r.post("Prefer: wait=5", "X-Request-Timeout-Ms: 1000") })
		time.Sleep(20 * time.Millisecond)
		r.finish(lease)
		r.finish(r.take())
		expect(t, "status of the admitted", (<-answer).status, 200)
	})
}

func TestExpiredOnArrival(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		got := r.post("X-Request-Timeout-Ms: 0", "Prefer: wait=1")
		expect(t, "status", got.status, 504)
		expect(t, "reason", got.state(t).Reason, "expired_on_arrival")
		expect(t, "refused", r.totals().Refused[work.ExpiredOnArrival], 1)
		got = r.post("X-Request-Deadline: 1999-12-31T23:59:59Z")
		expect(t, "status of an absolute one", got.status, 504)
	})
}

func TestFailuresAre502(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		answer := async(func() reply { return r.post("Prefer: wait=60") })
		lease := r.take()
		r.lease(`{"worker":"w","done":[{"lease":"` + lease + `","ok":false,"work_ms":1}]}`)
		got := <-answer
		expect(t, "status", got.status, 502)
		expect(t, "reason", got.state(t).Reason, "broken")

		answer = async(func() reply { return r.post("Prefer: wait=60") })
		r.take()
		got = <-answer
		expect(t, "status of the lost", got.status, 502)
		expect(t, "time", got.at, 10_000*ms)
		expect(t, "reason of the lost", got.state(t).Reason, "lost")
	})
}

func TestBodies(t *testing.T) {
	inBubble(t, func(c *Config) { c.MaxBody = 10 }, func(r *rig) {
		url := publicURL + "/v1/operations"
		expect(t, "at the limit", r.must("POST", url, "0123456789").status, 202)
		got := r.must("POST", url, "0123456789A")
		expect(t, "over the limit", got.status, 413)
		if !strings.Contains(got.state(t).Detail, "allowed are up to 10") {
			t.Errorf("detail %q", got.state(t).Detail)
		}
		req, _ := http.NewRequest("POST", url, http.NoBody)
		req.Body, req.ContentLength = readCloser{strings.NewReader("0123456789A")}, -1 // chunked
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		expect(t, "chunked over the limit", resp.StatusCode, 413)
		expect(t, "malformed", r.totals().Refused[work.Malformed], 2)
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
