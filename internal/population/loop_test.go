package population

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/service"
	"shedload/internal/work"
)

const ms = time.Millisecond

func at(millis int64) work.Instant { return work.Instant(millis) * work.Instant(ms) }

// timeline is the dumbest driver there is: a list of what is due, searched from end
// to end. Events of one instant come as the design orders them: answers, time-outs,
// retries, thoughts, each in the order in which they were asked for.
type timeline struct {
	g      *Group
	now    work.Instant
	due    []due
	events []ledger.Event
	// serve says what becomes of an attempt: when it is answered (Never: not at
	// all) and how.
	serve func(a Attempt, now work.Instant) (work.Instant, work.Result)
	sent  []Attempt
	early bool // call back from inside Send where the answer is immediate
}

type due struct {
	at     work.Instant
	timer  Timer // or, with the zero Kind, an answer:
	a      Attempt
	result work.Result
}

func newTimeline(t testing.TB, s Spec, id Identity) *timeline {
	t.Helper()
	l := &timeline{serve: func(Attempt, work.Instant) (work.Instant, work.Result) { return work.Never, work.Result{} }}
	var err error
	if l.g, err = New(s, id, l, func(e ledger.Event) { l.events = append(l.events, e) }); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *timeline) Send(a Attempt) {
	l.sent = append(l.sent, a)
	l.g.Sent(a, max(l.now, a.Intended))
	switch when, r := l.serve(a, a.Intended); {
	case when == work.Never:
	case l.early && when == a.Intended:
		l.g.Reply(when, a, r)
	default:
		l.due = append(l.due, due{at: when, a: a, result: r})
	}
}

func (l *timeline) Wake(at work.Instant, t Timer) { l.due = append(l.due, due{at: at, timer: t}) }

// run hands out what is due up to and including end.
func (l *timeline) run(end work.Instant) {
	for {
		next := -1
		for i, d := range l.due {
			if d.at <= end && (next < 0 || d.at < l.due[next].at || d.at == l.due[next].at && d.timer.Kind < l.due[next].timer.Kind) {
				next = i
			}
		}
		if next < 0 {
			l.now = end
			return
		}
		d := l.due[next]
		l.due = slices.Delete(l.due, next, next+1)
		l.now = d.at
		if d.timer.Kind == 0 {
			l.g.Reply(d.at, d.a, d.result)
		} else {
			l.g.Woke(d.at, d.timer)
		}
	}
}

// trace writes the events down, one a line.
func (l *timeline) trace() string {
	var b strings.Builder
	for _, e := range l.events {
		fmt.Fprintf(&b, "%d %s %d", time.Duration(e.At)/ms, kindName(e.Kind), e.Unit.Request)
		switch e.Kind {
		case ledger.Sent, ledger.Resumed, ledger.Missed:
			fmt.Fprintf(&b, " attempt %d until %d late %s", e.Unit.Attempt, time.Duration(e.Unit.Deadline)/ms, e.Took)
		case ledger.Answered:
			fmt.Fprintf(&b, " attempt %d %s%s after %s", e.Unit.Attempt, e.Outcome, e.Reason, e.Took)
		case ledger.Ended:
			fmt.Fprintf(&b, " %s tries %d start %d took %s", e.End, e.Unit.Attempt, time.Duration(e.Start)/ms, e.Took)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func kindName(k ledger.Kind) string {
	names := map[ledger.Kind]string{
		ledger.Wished: "wished", ledger.Sent: "sent", ledger.Missed: "missed", ledger.Resumed: "resumed",
		ledger.Answered: "answered", ledger.Ended: "ended",
	}
	return names[k]
}

func (l *timeline) expect(t *testing.T, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i]) + "\n"
	}
	if got, want := l.trace(), strings.Join(lines, ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// storm is the client of the published retry storms.
func storm() Spec {
	return Spec{
		Patience: 500 * ms,
		Retry: retry.Spec{
			Attempts: 4, RetryAfter: retry.Ignore,
			Backoff: retry.BackoffSpec{Kind: retry.ExponentialBackoff, Base: 100 * ms},
		},
	}
}

func thinking(users int, think string) Spec {
	pause, err := service.ParseSpec(think)
	if err != nil {
		panic(err)
	}
	return Spec{Patience: 500 * ms, Users: users, Think: pause}
}
