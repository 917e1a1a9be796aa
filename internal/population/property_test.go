package population

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/service"
	"shedload/internal/work"
)

// life is what the events say of one request.
type life struct{ wished, ended, left, missed, answered, tries int }

// lives sorts the events by request, and fails on what can never be.
func lives(t *rapid.T, events []ledger.Event, s Spec) map[uint64]*life {
	all := map[uint64]*life{}
	for _, e := range events {
		l := all[e.Unit.Request]
		if l == nil {
			l = &life{}
			all[e.Unit.Request] = l
		}
		if l.ended > 0 && e.Kind != ledger.Missed {
			t.Fatalf("%+v after the end of its request", e)
		}
		switch e.Kind {
		case ledger.Wished:
			l.wished++
		case ledger.Sent, ledger.Resumed:
			l.left++
			if e.At >= e.Unit.Deadline || e.Unit.Deadline > e.At.Add(s.Patience) {
				t.Fatalf("sent at %s with deadline %s, patience %s", e.At, e.Unit.Deadline, s.Patience)
			}
		case ledger.Missed:
			l.missed++
		case ledger.Answered:
			l.answered++
			if e.At > e.Unit.Deadline || e.Took > s.Patience || e.Took < 0 {
				t.Fatalf("answered at %s after %s, deadline %s", e.At, e.Took, e.Unit.Deadline)
			}
		case ledger.Ended:
			l.ended++
			l.tries = int(e.Unit.Attempt)
			if s.RequestDeadline > 0 && e.Took > s.RequestDeadline {
				t.Fatalf("took %s, the request's deadline is %s", e.Took, s.RequestDeadline)
			}
		}
	}
	return all
}

func drawGroup(t *rapid.T) Spec {
	s := Spec{Patience: time.Duration(rapid.IntRange(1, 300).Draw(t, "patience")) * ms}
	s.Retry = retry.Spec{Attempts: rapid.IntRange(1, 5).Draw(t, "attempts"), Resume: rapid.Bool().Draw(t, "resume")}
	if rapid.Bool().Draw(t, "backoff") {
		s.Retry.Backoff = retry.BackoffSpec{Kind: retry.ExponentialBackoff, Base: 20 * ms, Jitter: retry.Jitter(rapid.IntRange(0, 3).Draw(t, "jitter"))}
	}
	if rapid.Bool().Draw(t, "request deadline") {
		s.RequestDeadline = time.Duration(rapid.IntRange(1, 900).Draw(t, "request")) * ms
	}
	for _, k := range rapid.SliceOfN(rapid.IntRange(1, int(retry.Dotnet)), 0, 3).Draw(t, "gates") {
		s.Gates = append(s.Gates, retry.GateSpec{Kind: retry.GateKind(k)})
	}
	if rapid.Bool().Draw(t, "closed") {
		s.Users = rapid.IntRange(1, 20).Draw(t, "users")
		s.Think = service.Spec{Kind: service.Exponential, A: 50 * ms}
	}
	return s
}

// flaky is a timeline with a driver that sometimes cannot send.
type flaky struct {
	*timeline
	t *rapid.T
}

func (f flaky) Send(a Attempt) {
	if rapid.IntRange(0, 19).Draw(f.t, "luck") == 0 {
		f.sent = append(f.sent, a)
		f.g.Unsent(a, a.Intended)
		return
	}
	f.timeline.Send(a)
}

func TestConservation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawGroup(rt)
		l := newTimeline(t, s, Identity{Client: 1, Seed: 5})
		l.early = rapid.Bool().Draw(rt, "early")
		l.g.host = flaky{l, rt}
		l.serve = func(_ Attempt, now work.Instant) (work.Instant, work.Result) {
			r := work.Result{Outcome: rapid.SampledFrom([]work.Outcome{
				work.Succeeded, work.Refused, work.Dropped, work.Failed, work.ClientError, work.TimedOut,
			}).Draw(rt, "outcome")}
			return now.Add(time.Duration(rapid.IntRange(0, 400).Draw(rt, "took")) * ms), r
		}
		l.g.Start(0)
		if s.Users == 0 {
			for k := range rapid.IntRange(1, 30).Draw(rt, "requests") {
				l.g.Arrive(at(int64(k*10)), RequestID(1, uint64(k)), 0)
				l.run(at(int64(k*10 + 9)))
			}
		}
		l.run(at(int64(rapid.IntRange(300, 1500).Draw(rt, "horizon"))))
		l.g.Close(l.now)
		handed := map[uint64]int{}
		for _, a := range l.sent {
			handed[a.Request]++
		}
		for request, one := range lives(rt, l.events, s) {
			switch {
			case one.wished != 1 || one.ended != 1:
				rt.Fatalf("request %d: wished %d times, ended %d times", request, one.wished, one.ended)
			case one.left+one.missed != handed[request] || one.tries != handed[request] || one.tries > s.Retry.Attempts:
				rt.Fatalf("request %d: %d left + %d missed of %d, %d tries of %d", request, one.left, one.missed, handed[request], one.tries, s.Retry.Attempts)
			case one.answered > one.left || one.answered < one.left-1:
				rt.Fatalf("request %d: %d answers to %d attempts", request, one.answered, one.left)
			}
		}
		if l.g.Len() != 0 {
			rt.Fatalf("%d left after the close", l.g.Len())
		}
	})
}
