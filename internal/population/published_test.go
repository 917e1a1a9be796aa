package population

import (
	"fmt"
	"testing"

	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// pool is the server of the published retry storms, rule by rule: 4 workers, one
// queue, 30 ms of work (90 ms from 1000 to 1999 ms), steps of 1 ms.
type pool struct {
	l        *timeline
	limit    int  // of the queue; 0 for none
	drop     bool // what has expired, when a worker is free
	queue    []Attempt
	busy     []due
	attempts int
}

func (p *pool) Send(a Attempt) {
	p.attempts++
	p.l.g.Sent(a, a.Intended)
	if p.limit > 0 && len(p.queue) >= p.limit {
		p.l.g.Reply(a.Intended, a, refused)
		return
	}
	p.queue = append(p.queue, a)
}

func (p *pool) Wake(at work.Instant, t Timer) { p.l.Wake(at, t) }

func (p *pool) step(now work.Instant, request uint64, arrives bool) {
	for i := 0; i < len(p.busy); i++ {
		if p.busy[i].at == now {
			a := p.busy[i].a
			p.busy = append(p.busy[:i], p.busy[i+1:]...)
			i--
			p.l.g.Reply(now, a, ok)
		}
	}
	p.l.run(now)
	if arrives {
		p.l.g.Arrive(now, request, 0)
	}
	for len(p.busy) < 4 && len(p.queue) > 0 {
		a := p.queue[0]
		p.queue = p.queue[1:]
		if p.drop && now >= a.Deadline {
			continue
		}
		took := 30 * ms
		if now >= at(1000) && now < at(2000) {
			took = 90 * ms
		}
		p.busy = append(p.busy, due{at: now.Add(took), a: a})
	}
}

// The rows of the published table that a client alone tells apart, and two servers
// under it: success in per cent by start of the request, and tries per request of
// those that started in the trigger.
func TestPublishedRetryStorms(t *testing.T) {
	budget := retry.GateSpec{Kind: retry.TokenBucket, Charge: new(retry.ChargeSchedule)} // 10 tokens, 0.1 a request
	for _, c := range []struct {
		name     string
		limit    int
		drop     bool
		attempts int
		gates    []retry.GateSpec
		want     string
	}{
		{"no shedding, 3 retries", 0, false, 4, nil, "100.0 62.0 1.0 0.0 2.22"},
		{"bounded queue, 3 retries", 40, false, 4, nil, "100.0 100.0 100.0 100.0 2.02"},
		{"bounded + drop expired, 3 retries", 40, true, 4, nil, "100.0 100.0 100.0 100.0 1.74"},
		{"no shedding, no retries", 0, false, 1, nil, "100.0 54.0 100.0 100.0 1.00"},
		{"no shedding, 3 retries, 10 % budget", 0, false, 4, []retry.GateSpec{budget}, "100.0 66.0 94.0 100.0 1.15"},
		{"bounded + drop expired, no retries", 40, true, 1, nil, "100.0 57.0 100.0 100.0 1.00"},
		{"bounded + drop expired, 3 retries, 10 % budget", 40, true, 4, []retry.GateSpec{budget}, "100.0 61.0 100.0 100.0 1.14"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storm()
			s.Retry.Attempts, s.Gates = c.attempts, c.gates
			l := newTimeline(t, s, Identity{})
			p := &pool{l: l, limit: c.limit, drop: c.drop}
			l.g.host = p
			for now := range int64(12_000) {
				p.step(at(now), uint64(now/10), now%10 == 0 && now < 8000)
			}
			l.g.Close(at(12_000))
			if got := shares(l.events); got != c.want {
				t.Errorf("got %s, want %s (%d attempts)", got, c.want, p.attempts)
			}
		})
	}
}

func shares(events []ledger.Event) string {
	var requests, succeeded, tries [4]int
	for _, e := range events {
		if e.Kind != ledger.Ended {
			continue
		}
		w := 0
		for _, start := range []int64{1000, 2000, 4000} {
			if e.Start >= at(start) {
				w++
			}
		}
		requests[w]++
		tries[w] += int(e.Unit.Attempt)
		if e.End == ledger.EndSucceeded {
			succeeded[w]++
		}
	}
	out := ""
	for w := range requests {
		out += fmt.Sprintf("%.1f ", 100*float64(succeeded[w])/float64(requests[w]))
	}
	return out + fmt.Sprintf("%.2f", float64(tries[1])/float64(requests[1]))
}
