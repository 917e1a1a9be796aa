package api

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/work"
)

func TestAGetHoldsUntilTheStateChanges(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		url := publicURL + r.post("X-Request-Timeout-Ms: 1000").header.Get("Location")
		got := r.must("GET", url, "", "Prefer: wait=0.5")
		expect(t, "state", got.state(t).State, "pending")
		expect(t, "held for", got.at, 500*ms)

		long := async(func() reply { return r.must("GET", url, "", "Prefer: wait=10") })
		other := async(func() reply { return r.must("GET", url, "", "Prefer: wait=10") })
		lease := r.take()
		time.Sleep(100 * time.Millisecond)
		r.finish(lease)
		for _, c := range []<-chan reply{long, other} {
			got := <-c
			expect(t, "status", got.status, 200)
			expect(t, "state", got.state(t).State, "done")
			expect(t, "time", got.at, 600*ms)
			expect(t, "finished in", *got.state(t).FinishedIn, 600)
		}
		expect(t, "malformed wait", r.must("GET", url, "", "Prefer: wait=x").status, 400)
	})
}

func TestDeleteFreesQueuedWorkOnlyWhenItMay(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		t.Run(fmt.Sprint(cancel), func(t *testing.T) {
			inBubble(t, func(c *Config) { c.CancelAbandoned = cancel }, func(r *rig) {
				url := publicURL + r.post().header.Get("Location")
				expect(t, "delete", r.must("DELETE", url, "").status, 204)
				want := state{State: "pending"}
				if cancel {
					want = state{State: "failed", Reason: "canceled"}
				}
				got := r.must("GET", url, "").state(t)
				expect(t, "state", got.State, want.State)
				expect(t, "reason", got.Reason, want.Reason)
				expect(t, "canceled", r.totals().Canceled == 1, cancel)
				expect(t, "delete again", r.must("DELETE", url, "").status, 204)
			})
		})
	}
}

func TestAClosedConnectionLeavesTheOperation(t *testing.T) {
	for _, protocol := range []string{"h1", "h2c"} {
		for _, cancel := range []bool{false, true} {
			t.Run(fmt.Sprint(protocol, cancel), func(t *testing.T) {
				inBubble(t, func(c *Config) { c.CancelAbandoned = cancel }, func(r *rig) {
					if protocol == "h2c" {
						r.useH2C()
					}
					ctx, leave := context.WithTimeout(r.t.Context(), 300*time.Millisecond)
					defer leave()
					_, err := r.do(ctx, "POST", publicURL+"/v1/operations", "", "Prefer: wait=5")
					if err == nil {
						t.Error("answered, although the client left")
					}
					synctest.Wait()
					expect(t, "canceled", r.totals().Canceled == 1, cancel)
					expect(t, "waits", r.Gauges().Waits, 0)
				})
			})
		}
	}
}

func TestWorkIsKeptWhileAnybodyWaitsForIt(t *testing.T) {
	inBubble(t, func(c *Config) { c.CancelAbandoned = true }, func(r *rig) {
		ctx, leave := context.WithCancel(r.t.Context())
		go r.do(ctx, "POST", publicURL+"/v1/operations", "", "Prefer: wait=5", "Idempotency-Key: k")
		synctest.Wait()
		second := async(func() reply { return r.post("Prefer: wait=5", "Idempotency-Key: k") })
		leave()
		synctest.Wait()
		expect(t, "canceled", r.totals().Canceled, 0)
		r.finish(r.take())
		expect(t, "status", (<-second).status, 200)
	})
}

func TestADeletedOperationTellsThoseWhoWait(t *testing.T) {
	inBubble(t, func(c *Config) { c.CancelAbandoned = true }, func(r *rig) {
		answer := async(func() reply { return r.post("Prefer: wait=5", "Idempotency-Key: k") })
		url := publicURL + r.post("Idempotency-Key: k").header.Get("Location")
		r.must("DELETE", url, "")
		got := <-answer
		expect(t, "status", got.status, 410)
		expect(t, "reason", got.state(t).Reason, "canceled")
	})
}

func TestIdempotency(t *testing.T) {
	inBubble(t, func(c *Config) { c.Station.Queue.Discipline = discipline(t, "deadline(70ms)") }, func(r *rig) {
		start := func(body string, headers ...string) reply {
			return r.must("POST", publicURL+"/v1/operations", body, append(headers, "Idempotency-Key: k")...)
		}
		first := start("a", "X-Request-Timeout-Ms: 1000")
		id := first.state(t).ID
		expect(t, "another body", start("b").status, 422)
		joined := start("a", "X-Request-Timeout-Ms: 500")
		expect(t, "joined", joined.status, 202)
		expect(t, "id", joined.state(t).ID, id)
		expect(t, "arrived", r.totals().Arrived, 1)
		expect(t, "resumed", r.Gauges().Counts.Resumed, 1)

		// A later deadline counts for the unit, an earlier one does not.
		time.Sleep(900 * time.Millisecond)
		start("a", "X-Request-Timeout-Ms: 1000")
		l := r.lease(`{"worker":"w","want":1}`).leases(t)
		expect(t, "time left", l.Leases[0].TimeoutMS, "1000")
		r.finish(l.Leases[0].Lease)
		done := start("a", "Prefer: wait=5")
		expect(t, "finished", done.status, 200)
		expect(t, "state", done.state(t).State, "done")
		expect(t, "finished, another body", start("c").status, 422)
		expect(t, "arrived at last", r.totals().Arrived, 1)
	})
}

func TestAKeyOfAFailedOperationIsRepeatedToItsAttemptAndFreeForTheNext(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		start := func(attempt int) reply {
			return r.post(fmt.Sprint("X-Attempt: ", attempt), "Idempotency-Key: k", "Prefer: wait=60")
		}
		answer := async(func() reply { return start(1) })
		lease := r.take()
		r.lease(`{"worker":"w","done":[{"lease":"` + lease + `","ok":false}]}`)
		expect(t, "failed", (<-answer).status, 502)
		expect(t, "the same attempt", start(1).status, 502)
		answer = async(func() reply { return start(2) })
		r.finish(r.take())
		expect(t, "the next attempt", (<-answer).status, 200)
		expect(t, "arrived", r.totals().Arrived, 2)
	})
}

func TestRetention(t *testing.T) {
	inBubble(t, func(c *Config) { c.Retention = 5 * time.Second }, func(r *rig) {
		url := publicURL + r.post("Idempotency-Key: k").header.Get("Location")
		other := publicURL + r.post().header.Get("Location")
		r.finish(r.take())
		time.Sleep(5*time.Second - 1)
		expect(t, "kept", r.must("GET", url, "").status, 200)
		time.Sleep(time.Nanosecond)
		expect(t, "over", r.must("GET", url, "").status, 404)
		expect(t, "over, deleted", r.must("DELETE", url, "").status, 404)
		expect(t, "still pending", r.must("GET", other, "").status, 200)
		expect(t, "the key starts anew", r.post("Idempotency-Key: k").status, 202)
		expect(t, "operations", r.Gauges().Operations, 2)
		r.mu.Lock()
		defer r.mu.Unlock()
		expect(t, "keys", len(r.ops.keys)+len(r.ops.keyed), 2)
	})
}

func TestRetentionIsOverWithoutTraffic(t *testing.T) {
	inBubble(t, func(c *Config) { c.Retention = 5 * time.Second }, func(r *rig) {
		for range 1000 {
			r.post("X-Request-Timeout-Ms: 10")
		}
		r.finish(r.take())
		lease := r.lease(`{"worker":"w","want":999}`).leases(t)
		for _, l := range lease.Leases {
			r.finish(l.Lease)
		}
		time.Sleep(10 * time.Second)
		r.mu.Lock()
		defer r.mu.Unlock()
		expect(t, "records", len(r.ops.records), 0)
		expect(t, "chunks", len(r.ops.ended.chunks), 1)
	})
}

// TestEndedListIsAQueue compares the chunked list with a slice.
func TestEndedListIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l endedList
		var oracle []endedEntry
		next := uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			for range rapid.IntRange(0, 3000).Draw(t, "push") {
				next++
				l.push(endedEntry{next, work.Instant(next)})
				oracle = append(oracle, endedEntry{next, work.Instant(next)})
			}
			for range rapid.IntRange(0, len(oracle)).Draw(t, "pop") {
				first, ok := l.first()
				if got := l.pop(); !ok || got != oracle[0] || got != first {
					t.Fatalf("got %v and %v, want %v", got, first, oracle[0])
				}
				oracle = oracle[1:]
			}
			if l.length != len(oracle) || len(l.chunks) > len(oracle)/endedChunk+2 {
				t.Fatalf("%d entries in %d chunks, want %d", l.length, len(l.chunks), len(oracle))
			}
		}
		if _, ok := l.first(); ok != (len(oracle) > 0) {
			t.Fatal("first of an empty list")
		}
	})
}

func TestTheStoreIsBounded(t *testing.T) {
	o := newOperations(time.Hour)
	o.limit = 5000
	for id := range uint64(5010) {
		o.retain(id, record{})
	}
	expect(t, "records", len(o.records), 5000)
	if _, ok := o.records[9]; ok {
		t.Error("the oldest record is still there")
	}
	if _, ok := o.records[10]; !ok {
		t.Error("a young record is gone")
	}
}
