package population

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/service"
	"shedload/internal/work"
)

var (
	ok      = work.Result{Outcome: work.Succeeded}
	refused = work.Result{Outcome: work.Refused, Reason: work.QueueFull}
)

func TestRequestFromWishToEnd(t *testing.T) {
	l := newTimeline(t, storm(), Identity{Client: 3})
	l.serve = func(a Attempt, now work.Instant) (work.Instant, work.Result) {
		switch a.Attempt {
		case 1: // never answered
			return work.Never, work.Result{}
		case 2: // refused at once
			return now, refused
		default: // exactly at the deadline
			return a.Deadline, ok
		}
	}
	l.g.Arrive(at(10), 7, 2)
	l.run(at(5000))
	l.expect(t, `
		10 wished 7
		10 sent 7 attempt 1 until 510 late 0s
		510 answered 7 attempt 1 timed_out after 500ms
		610 sent 7 attempt 2 until 1110 late 0s
		610 answered 7 attempt 2 refusedqueue_full after 0s
		810 sent 7 attempt 3 until 1310 late 0s
		1310 answered 7 attempt 3 succeeded after 500ms
		1310 ended 7 succeeded tries 3 start 10 took 1.3s`)
	for _, a := range l.sent {
		if a.Client != 3 || a.Class != 2 || a.Request != 7 {
			t.Errorf("attempt %+v: want client 3, class 2, request 7", a)
		}
	}
	for _, e := range l.events {
		if e.Unit.Class != 2 {
			t.Errorf("event %+v: want class 2", e)
		}
	}
	if l.g.Len() != 0 {
		t.Errorf("%d requests under way at the end", l.g.Len())
	}
}

func TestHowRequestsEnd(t *testing.T) {
	empty := retry.GateSpec{Kind: retry.TokenBucket, Initial: new(retry.Thousandths(0)), Earn: new(retry.Thousandths(0))}
	breaker := retry.GateSpec{Kind: retry.CircuitBreaker, MinRequests: new(1)}
	for name, c := range map[string]struct {
		change func(*Spec)
		want   []ledger.End // of two requests, both always refused
	}{
		"attempts used up":    {func(*Spec) {}, []ledger.End{ledger.EndGaveUpAttempts, ledger.EndGaveUpAttempts}},
		"no time left":        {func(s *Spec) { s.RequestDeadline = 50 * ms }, []ledger.End{ledger.EndGaveUpAttempts, ledger.EndGaveUpAttempts}},
		"nothing to retry on": {func(s *Spec) { s.Retry.On = []retry.Cause{retry.Timeout} }, []ledger.End{ledger.EndGaveUpAttempts, ledger.EndGaveUpAttempts}},
		"gate":                {func(s *Spec) { s.Gates = []retry.GateSpec{empty} }, []ledger.End{ledger.EndGaveUpGate, ledger.EndGaveUpGate}},
		"gate, then throttle": {func(s *Spec) { s.Gates = []retry.GateSpec{breaker} }, []ledger.End{ledger.EndGaveUpGate, ledger.EndThrottled}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storm()
			c.change(&s)
			l := newTimeline(t, s, Identity{})
			l.serve = func(_ Attempt, now work.Instant) (work.Instant, work.Result) { return now, refused }
			for k := range int64(2) {
				l.g.Arrive(at(k*2000), uint64(k), 0)
				l.run(at(k*2000 + 1999))
			}
			var ends []ledger.End
			for _, e := range l.events {
				if e.Kind == ledger.Ended {
					ends = append(ends, e.End)
				}
			}
			if !slices.Equal(ends, c.want) {
				t.Errorf("ended %v, want %v\n%s", ends, c.want, l.trace())
			}
		})
	}
}

func TestAnswersThatDoNotCount(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.g.Arrive(at(0), 1, 0)
	one := l.sent[0]
	l.g.Reply(at(501), one, ok) // after patience, before the driver's timer
	l.run(at(600))              // time-out, second attempt
	two := l.sent[1]
	l.g.Reply(at(610), one, ok)                                  // of the first attempt
	l.g.Reply(at(610), two, work.Result{Outcome: work.TimedOut}) // "still pending"
	l.g.Reply(at(610), Attempt{Call: 99}, ok)                    // of nothing
	other := two
	other.Request = 5
	l.g.Reply(at(610), other, ok) // of another request
	l.g.Reply(at(620), two, ok)
	l.g.Reply(at(621), two, ok) // twice
	l.run(at(5000))
	l.expect(t, `
		0 wished 1
		0 sent 1 attempt 1 until 500 late 0s
		500 answered 1 attempt 1 timed_out after 500ms
		600 sent 1 attempt 2 until 1100 late 0s
		620 answered 1 attempt 2 succeeded after 20ms
		620 ended 1 succeeded tries 2 start 0 took 620ms`)
}

func TestHandlesOfAnEarlierRequestDoNoHarm(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.g.Arrive(at(0), 1, 0)
	l.g.Reply(at(10), l.sent[0], ok)
	stale := l.due[0].timer
	l.g.Arrive(at(20), 2, 0) // takes the same place
	if l.sent[0].Call != l.sent[1].Call {
		t.Fatal("a free place was not used again")
	}
	before := len(l.events)
	l.g.Woke(at(30), stale)
	l.g.Reply(at(30), l.sent[0], ok)
	l.g.Woke(at(30), Timer{Call: 12345, Gen: 1, Kind: PatienceOver})
	if len(l.events) != before {
		t.Errorf("stale handles did something:\n%s", l.trace())
	}
}

func TestResume(t *testing.T) {
	s := storm()
	s.Retry.Resume = true
	l := newTimeline(t, s, Identity{})
	l.serve = func(a Attempt, now work.Instant) (work.Instant, work.Result) {
		if a.Resume {
			return now.Add(7 * ms), ok
		}
		return work.Never, work.Result{}
	}
	l.g.Arrive(0, 1, 0)
	first := l.sent[0]
	l.run(at(601))
	l.g.Reply(at(602), first, ok) // the exchange that was given up; the one that joined it is open
	l.run(at(5000))
	l.expect(t, `
		0 wished 1
		0 sent 1 attempt 1 until 500 late 0s
		500 answered 1 attempt 1 timed_out after 500ms
		600 resumed 1 attempt 1 until 1100 late 0s
		607 answered 1 attempt 1 succeeded after 7ms
		607 ended 1 succeeded tries 2 start 0 took 607ms`)
}

// Trap: "A send time taken when the request really leaves hides the queue in front of
// the generator." Lateness is measured, and neither shifts the deadline nor the answer's latency.
func TestTrapSendTimeIsTheIntendedTime(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.now = at(130) // the driver is 30 ms late
	l.g.Arrive(at(100), 1, 0)
	l.g.Reply(at(160), l.sent[0], refused)
	l.g.Woke(at(275), l.due[len(l.due)-1].timer) // and 15 ms late for a retry due at 260
	l.g.Woke(at(777), l.due[len(l.due)-1].timer) // and 17 ms late for its time-out
	l.run(at(959))
	if next := l.due[len(l.due)-1]; next.at != at(760+200) {
		t.Errorf("the third attempt is due at %s, want 200 ms after patience was over", next.at)
	}
	l.expect(t, `
		100 wished 1
		130 sent 1 attempt 1 until 600 late 30ms
		160 answered 1 attempt 1 refusedqueue_full after 60ms
		260 sent 1 attempt 2 until 760 late 0s
		777 answered 1 attempt 2 timed_out after 517ms`)
}

func TestUnsent(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.g.host = quiet{l}
	l.g.Arrive(at(0), 1, 0)
	l.g.Unsent(l.sent[0], at(3))
	if retry := l.due[len(l.due)-1]; retry.at != at(103) || retry.timer.Kind != RetryDue {
		t.Errorf("%+v: want a retry after the backoff", retry)
	}
	l.run(at(103))
	l.run(at(603))                 // patience of the second is over before the driver has let it go
	l.g.Unsent(l.sent[1], at(604)) // it is recorded all the same
	l.expect(t, `
		0 wished 1
		0 missed 1 attempt 1 until 500 late 0s
		603 answered 1 attempt 2 timed_out after 500ms
		103 missed 1 attempt 2 until 603 late 0s`)
	l.run(at(803))
	l.g.Unsent(l.sent[2], at(1400)) // after patience, before the driver's timer
	if retry := l.due[len(l.due)-1]; retry.at != at(1303+400) || retry.timer.Kind != RetryDue {
		t.Errorf("%+v: want a retry after the backoff", retry)
	}
	l.g.Close(at(1500))
	l.g.Unsent(l.sent[1], at(1501))
	if got := l.trace(); strings.Count(got, "missed") != 4 || strings.Count(got, "ended") != 1 {
		t.Errorf("after the close:\n%s", got)
	}
}

// An attempt that leaves a touch early was not late.
func TestSentEarlyIsNotLate(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.g.Sent(Attempt{Intended: at(10), Deadline: at(510), Request: 1, Attempt: 1}, at(9))
	l.expect(t, `9 sent 1 attempt 1 until 510 late 0s`)
}

// quiet is a timeline that lets nothing leave.
type quiet struct{ *timeline }

func (q quiet) Send(a Attempt) { q.sent = append(q.sent, a) }

// A host may answer from inside Send, as a simulated door does.
func TestHostAnswersInsideSend(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.early = true
	l.serve = func(_ Attempt, now work.Instant) (work.Instant, work.Result) { return now, refused }
	for k := range uint64(600) { // across the chunks of the slab
		l.g.Arrive(at(0), k, 0)
	}
	l.run(at(5000))
	if sent, ended := len(l.sent), strings.Count(l.trace(), "ended"); sent != 2400 || ended != 600 || l.g.Len() != 0 {
		t.Errorf("%d sent, %d ended, %d left; want 2400, 600, 0", sent, ended, l.g.Len())
	}
}

func TestCloseEndsEverythingOnce(t *testing.T) {
	l := newTimeline(t, storm(), Identity{})
	l.g.Arrive(at(0), 1, 0) // will be pausing
	l.run(at(550))
	l.g.Arrive(at(560), 2, 0) // will be under way
	open := l.sent[1]
	l.g.Close(at(570))
	l.g.Close(at(571))
	l.g.Reply(at(572), open, ok)
	l.g.Arrive(at(573), 3, 0)
	l.run(at(5000))
	l.expect(t, `
		0 wished 1
		0 sent 1 attempt 1 until 500 late 0s
		500 answered 1 attempt 1 timed_out after 500ms
		560 wished 2
		560 sent 2 attempt 1 until 1060 late 0s
		570 ended 1 unfinished tries 1 start 0 took 570ms
		570 ended 2 unfinished tries 1 start 560 took 10ms`)
	if l.g.Len() != 0 {
		t.Errorf("%d left", l.g.Len())
	}
}

func TestSpecValidate(t *testing.T) {
	for _, c := range []struct {
		s    Spec
		id   Identity
		want string
	}{
		{Spec{}, Identity{}, "patience: 0s is not above 0s"},
		{Spec{Patience: ms, Users: -1}, Identity{}, "users: -1 is outside 0 to 10000000"},
		{Spec{Patience: ms, Users: 1}, Identity{}, "think_time: users that do not pause ask again at the very instant of a refusal, for ever: allowed is a time above 0s"},
		{Spec{Patience: ms, Think: service.Spec{A: ms}}, Identity{}, "think_time: only users think: allowed with users"},
		{Spec{Patience: ms, Users: 1, Think: service.Spec{A: -ms}}, Identity{}, "think_time: -1ms and 0s: a time is outside 0s to 1h0m0s"},
		{Spec{Patience: ms, Retry: retry.Spec{Attempts: -2}}, Identity{}, "retry.attempts: -2 is outside 1 to 10000"},
		{Spec{Patience: ms, Gates: []retry.GateSpec{{}}}, Identity{}, "gates[0].kind: no gate is named: allowed are throttle, breaker, token_bucket, ratio, sliding_window, concurrency, sre10, finagle, envoy, grpc, aws, dotnet"},
		{Spec{Patience: ms}, Identity{Part: 2, Parts: 2}, "part 2 of 2: allowed are 0 to 1"},
	} {
		if _, err := New(c.s, c.id, nil, nil); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// A live attempt costs its place in the group, the attempt that a simulator keeps
// with the unit, and a timer; all of them together must stay below 150 bytes.
func TestLiveAttemptIsSmall(t *testing.T) {
	if slot, attempt, timer := unsafe.Sizeof(slot{}), unsafe.Sizeof(Attempt{}), unsafe.Sizeof(Timer{}); slot > 64 || attempt > 48 || timer > 12 {
		t.Errorf("slot %d, attempt %d, timer %d bytes; at most 64, 48, 12", slot, attempt, timer)
	}
}
