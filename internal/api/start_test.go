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

func TestHostileHeaders(t *testing.T) {
	classes := []work.Class{{Name: "gold", Criticality: work.Critical}, {Name: "bronze", Criticality: work.Sheddable}}
	inBubble(t, func(c *Config) { c.Station.Classes = classes }, func(r *rig) {
		cases := []struct {
			header string
			status int
			names  string // in the detail
		}{
			{"X-Request-Id: 18446744073709551615", 202, ""},
			{"X-Request-Id: 18446744073709551616", 400, "X-Request-Id"},
			{"X-Request-Id: -1", 400, "X-Request-Id"},
			{"X-Request-Id: +1", 400, "X-Request-Id"},
			{"X-Request-Id: 0x10", 400, "X-Request-Id"},
			{"X-Request-Id: 1_000", 400, "X-Request-Id"},
			{"X-Request-Id: ", 400, "X-Request-Id"},
			{"X-Request-Id: " + strings.Repeat("9", 4000), 400, "X-Request-Id"},
			{"X-Attempt: 1", 202, ""},
			{"X-Attempt: 0", 400, "X-Attempt"},
			{"X-Attempt: 65535", 202, ""},
			{"X-Attempt: 65536", 400, "X-Attempt"},
			{"X-Attempt: 1.5", 400, "X-Attempt"},
			{"X-Class: gold", 202, ""},
			{"X-Class: GOLD", 400, "gold, bronze"},
			{"X-Class: ", 400, "X-Class"},
			{"X-Criticality: critical", 202, ""},
			{"X-Criticality: critical_plus", 202, ""},
			{"X-Criticality: Critical", 400, "critical_plus"},
			{"X-Request-Timeout-Ms: 949.731", 202, ""},
			{"X-Request-Timeout-Ms: 949.7311", 400, "X-Request-Timeout-Ms"},
			{"X-Request-Timeout-Ms: -1", 400, "X-Request-Timeout-Ms"},
			{"X-Request-Timeout-Ms: NaN", 400, "X-Request-Timeout-Ms"},
			{"X-Request-Timeout-Ms: 1e3", 400, "X-Request-Timeout-Ms"},
			{"Grpc-Timeout: 1x", 400, "Grpc-Timeout"},
			{"X-Request-Deadline: tomorrow", 400, "X-Request-Deadline"},
			{"Prefer: wait=-1", 400, "Prefer"},
			{"Prefer: wait=", 400, "Prefer"},
			{"Prefer: wait", 400, "Prefer"},
			{"Prefer: wait=1e9", 400, "Prefer"},
			{"Prefer: wait=0.0001", 400, "Prefer"},
			{"Prefer: wait=9999999999999", 400, "Prefer"},
			{"Prefer: respond-async, return=minimal", 202, ""},
			{"Prefer: x=\"a,wait=9\", wait=\"0\"", 202, ""},
			{"Idempotency-Key: ", 400, "Idempotency-Key"},
			{"Idempotency-Key: " + strings.Repeat("k", 256), 400, "Idempotency-Key"},
			{"Idempotency-Key: k\u00e4", 400, "Idempotency-Key"},
		}
		malformed := int64(0)
		for _, c := range cases {
			got := r.post(c.header)
			if got.status != c.status || !strings.Contains(got.body, c.names) {
				t.Errorf("%.60q: %d %q, want %d with %q", c.header, got.status, got.body, c.status, c.names)
			}
			if c.status == 400 {
				malformed++
				expect(t, "reason", got.state(t).Reason, "malformed")
			}
		}
		for _, name := range []string{"X-Request-Id: 1", "X-Attempt: 1", "X-Class: gold", "X-Request-Timeout-Ms: 5", "Idempotency-Key: k"} {
			got := r.post(name, name)
			expect(t, "twice "+name, got.status, 400)
			malformed++
		}
		got := r.post("X-Class: gold", "X-Criticality: sheddable")
		expect(t, "contradiction", got.status, 400)
		expect(t, "refused", r.totals().Refused[work.Malformed], malformed+1)
	})
}

func TestCriticalityFindsAClass(t *testing.T) {
	classes := []work.Class{{Name: "gold", Criticality: work.Critical}, {Name: "bronze", Criticality: work.Sheddable}}
	inBubble(t, func(c *Config) { c.Station.Classes = classes }, func(r *rig) {
		r.post("X-Criticality: sheddable")
		r.post("X-Class: gold")
		r.post("X-Criticality: sheddable_plus")
		l := r.lease(`{"worker":"w","want":3}`).leases(t)
		expect(t, "by criticality", l.Leases[0].Class, "bronze")
		expect(t, "by name", l.Leases[1].Class, "gold")
		expect(t, "no such criticality", l.Leases[2].Class, "gold")
	})
}

func TestRoutes(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.post().state(t).ID
		for _, c := range []struct {
			method, path string
			status       int
			allow        string
		}{
			{"GET", "/v1/operations", 405, "POST"},
			{"PUT", "/v1/operations/" + id, 405, "GET, DELETE"},
			{"POST", "/v1/operations/" + id, 405, "GET, DELETE"},
			{"GET", "/v1/operations/" + id, 200, ""},
			{"GET", "/v1/operations/", 404, ""},
			{"GET", "/v1/operations/" + id + "/x", 404, ""},
			{"GET", "/v1/operations/" + strings.ToUpper(id) + "x", 404, ""},
			{"GET", "/v1/operations/" + strings.Repeat("0", 32), 404, ""},
			{"DELETE", "/v1/operations/" + strings.Repeat("f", 32), 404, ""},
			{"GET", "/v1/operations/%2e%2e", 404, ""},
			{"GET", "/", 404, ""},
			{"POST", "/v1/operationsx", 404, ""},
			{"POST", "/v1/leases", 404, ""}, // workers only
		} {
			got := r.must(c.method, publicURL+c.path, "")
			if got.status != c.status || got.header.Get("Allow") != c.allow {
				t.Errorf("%s %s: %d, allow %q", c.method, c.path, got.status, got.header.Get("Allow"))
			}
			if c.status >= 400 {
				expect(t, "problem", got.state(t).Status, c.status)
			}
		}
	})
}
