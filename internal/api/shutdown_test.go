package api

import (
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/admit"
	"shedload/internal/work"
)

func TestShutdownAccountsForEverything(t *testing.T) {
	inBubble(t, func(c *Config) {
		c.SilentDrops = true
		c.Station.Door = admit.Spec{Kind: admit.Concurrency, Limit: 3, Wait: time.Minute}
	}, func(r *rig) {
		wait := []string{"Prefer: wait=60"}
		reported := async(func() reply { return r.post(wait...) })
		lost := async(func() reply { return r.post(wait...) })
		queued := async(func() reply { return r.post(wait...) })
		atDoor := async(func() reply { return r.post(wait...) })
		lease := r.take()
		r.take()
		poll := async(func() reply { return r.lease(`{"worker":"idle","want":0}`) })
		<-poll

		closed := make(chan work.Instant, 1)
		go func() { r.Shutdown(r.t.Context()); closed <- r.clock() }()
		synctest.Wait()
		got := <-queued
		expect(t, "queued", got.status, 503)
		expect(t, "queued reason", got.state(t).Reason, "closed")
		got = <-atDoor
		expect(t, "at the door", got.status, 503)
		expect(t, "at the door reason", got.state(t).Reason, "shutting_down")
		got = r.post("Prefer: wait=60")
		expect(t, "new", got.status, 503)
		expect(t, "new reason", got.state(t).Reason, "shutting_down")
		expect(t, "ready", r.must("GET", adminURL+"/readyz", "").status, 503)
		expect(t, "healthy", r.must("GET", adminURL+"/healthz", "").status, 200)
		expect(t, "a poll", r.lease(`{"worker":"w","want":1}`).status, 503)

		time.Sleep(3 * time.Second)
		expect(t, "a report", r.lease(`{"worker":"w","want":1,"done":[{"lease":"`+lease+`","ok":true}]}`).status, 204)
		expect(t, "reported", (<-reported).status, 200)
		got = <-lost
		expect(t, "lost", got.status, 502)
		expect(t, "closed at the end of the grace", <-closed, 10_000*ms)
		end := r.totals()
		expect(t, "pending", end.Pending(), 0)
		expect(t, "refused", end.Refused[work.ShuttingDown], 2)
		expect(t, "dropped", end.Dropped[work.Closed], 1)
		expect(t, "lost", end.Lost, 1)
	})
}

func TestShutdownIsOverWhenTheLastReportIsIn(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.post()
		lease := r.take()
		poll := async(func() reply { return r.lease(`{"worker":"idle","want":1}`) })
		closed := make(chan work.Instant, 1)
		go func() { r.Shutdown(r.t.Context()); closed <- r.clock() }()
		synctest.Wait()
		expect(t, "parked poll", (<-poll).status, 204)
		time.Sleep(time.Second)
		r.finish(lease)
		expect(t, "closed", <-closed, 1000*ms)
		r.Shutdown(r.t.Context()) // once more does no harm
	})
}

func TestShutdownTellsThoseWhoWereNotToKnow(t *testing.T) {
	inBubble(t, func(c *Config) {
		c.SilentDrops = true
		c.Station.Queue.Discipline = discipline(t, "deadline(70ms)")
	}, func(r *rig) {
		answer := async(func() reply { return r.post("Prefer: wait=1", "X-Request-Timeout-Ms: 1000") })
		time.Sleep(950 * time.Millisecond)
		poll := async(func() reply { return r.lease(`{"worker":"w","want":1}`) })
		r.Shutdown(r.t.Context())
		got := <-answer
		expect(t, "status", got.status, 503)
		expect(t, "time", got.at, 950*ms)
		expect(t, "reason", got.state(t).Reason, "doomed")
		expect(t, "poll", (<-poll).status, 204)
	})
}
