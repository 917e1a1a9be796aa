package retry

import (
	"fmt"
	"time"

	"shedload/internal/draw"
	"shedload/internal/work"
)

// Policy is what all calls of one client share.
type Policy struct {
	spec            Spec
	attempts        uint16
	causes          uint8
	patience        time.Duration
	requestDeadline time.Duration
	gates           Gates
}

// NewPolicy builds a policy. patience, above 0, is how long one attempt is waited
// for; requestDeadline, 0 for none, is shared by all attempts of a request.
func NewPolicy(s Spec, patience, requestDeadline time.Duration, gates []GateSpec) (*Policy, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("retry.%w", err)
	}
	if patience <= 0 {
		return nil, fmt.Errorf("patience: %s is not above 0s", patience)
	}
	if requestDeadline < 0 {
		return nil, fmt.Errorf("request_deadline: %s is below 0s", requestDeadline)
	}
	g, err := NewGates(gates)
	if err != nil {
		return nil, err
	}
	return &Policy{
		spec: s, attempts: uint16(max(1, s.Attempts)), causes: s.causes(),
		patience: patience, requestDeadline: requestDeadline, gates: g,
	}, nil
}

// Call returns the call of a request that comes into being at begin.
func (p *Policy) Call(begin work.Instant) Call { return Call{policy: p, began: begin, at: begin} }

// Gauges returns what the gates have to show at now.
func (p *Policy) Gauges(now work.Instant) Gauges { return p.gates.Gauges(now) }

// InputKind is what happened to a call.
type InputKind uint8

// What can happen.
const (
	// Begin: the request comes into being.
	Begin InputKind = iota + 1
	// Woke: the instant that the last command named is here.
	Woke
	// Reply: the attempt under way was answered. A result of TimedOut (the server
	// says that the work is still pending) is no answer: the client's own timer is
	// the truth.
	Reply
)

// Input is what happened to a call.
type Input struct {
	Kind   InputKind
	Result work.Result // of a Reply
}

// CommandKind is what a driver must do.
type CommandKind uint8

// What there is to do. Nothing, the zero CommandKind, keeps the last command in force.
const (
	Nothing CommandKind = iota
	// Send the try; step with Woke at At, its deadline, unless a reply comes first.
	// A reply at exactly At is on time: deliver it before Woke.
	Send
	// Wait until At, then step with Woke.
	Wait
	// Stop: the request is over.
	Stop
)

// Why is why a request is over.
type Why uint8

// The reasons to stop.
const (
	// Success: answered within patience.
	Success Why = iota + 1
	// OutOfAttempts: the last attempt failed.
	OutOfAttempts
	// OutOfTime: the request's deadline leaves no time for another try.
	OutOfTime
	// NotRetryable: the cause is not one to retry on, or the server asked not to.
	NotRetryable
	// GateRefused: a gate refused the next try.
	GateRefused
)

// Command is what a driver must do.
type Command struct {
	Kind CommandKind
	// At is the deadline of a Send, or the end of a Wait.
	At work.Instant
	// Why belongs to a Stop.
	Why Why
	// Resume says that a Send joins the pending operation instead of starting one.
	Resume bool
}

type state uint8

const (
	fresh  state = iota
	open         // a try is under way
	paused       // a retry is scheduled
	over
)

// Call is one request under way. Make it with Policy.Call. It is a plain value of
// 40 bytes, so that a driver can keep hundreds of thousands in one piece.
type Call struct {
	policy *Policy
	began  work.Instant
	// at is the instant at which the try under way was meant to leave or, while
	// paused, at which the next one is due.
	at work.Instant
	// pause is the last backoff, from which decorrelated jitter draws the next.
	pause    time.Duration
	tries    uint16
	attempts uint16 // tries without resumes
	state    state
	cause    Cause // what failed the last try
}

// Began returns the instant at which the request came into being.
func (c *Call) Began() work.Instant { return c.began }

// Intended returns the instant at which the try under way was meant to leave.
func (c *Call) Intended() work.Instant { return c.at }

// Attempts returns the attempts sent so far, without resumes.
func (c *Call) Attempts() int { return int(c.attempts) }

// Tries returns the attempts and resumes sent so far.
func (c *Call) Tries() int { return int(c.tries) }

// Begun reports whether the request has come into being.
func (c *Call) Begun() bool { return c.state != fresh }

// Open reports whether a try is under way.
func (c *Call) Open() bool { return c.state == open }

// Deadline returns the last instant at which an answer to the try under way is on
// time: patience after it was meant to leave, but not after the request's deadline.
func (c *Call) Deadline() work.Instant {
	return min(c.at.Add(c.policy.patience), c.limit())
}

// limit is the request's deadline.
func (c *Call) limit() work.Instant {
	if c.policy.requestDeadline == 0 {
		return work.Never
	}
	return c.began.Add(c.policy.requestDeadline)
}

// DrawKey completes the key of the stream that the next Step draws from: a backoff
// while a try is under way, a throttle's dice otherwise. k names client and request.
func (c *Call) DrawKey(k draw.Key) draw.Key {
	k.Purpose, k.Attempt = draw.Backoff, c.tries
	if c.state != open {
		k.Purpose, k.Attempt = draw.Throttle, c.tries+1
	}
	return k
}

// Awaits reports whether an answer at now still counts: a try is under way, and
// its patience not over.
func (c *Call) Awaits(now work.Instant, r work.Result) bool {
	return c.state == open && now <= c.Deadline() && r.Outcome != work.TimedOut
}

// Step tells the call what happened at now and returns what to do about it. Begin
// and Woke take place at the instant that they were meant for, however late the
// driver noticed, so that a late driver shows as lateness and does not shift the
// load. An input that does not fit the call's state, such as a reply after patience
// or after the end, changes nothing.
func (c *Call) Step(now work.Instant, in Input, rnd draw.Rand) Command {
	switch {
	case in.Kind == Begin && c.state == fresh:
		return c.send(Ask{Attempt: 1, When: Sent, Sent: c.at}, rnd)
	case in.Kind == Reply && c.Awaits(now, in.Result):
		return c.reply(now, in.Result, rnd)
	case in.Kind == Woke && c.state == open:
		return c.reply(c.Deadline(), work.Result{Outcome: work.TimedOut}, rnd)
	case in.Kind == Woke && c.state == paused:
		return c.send(Ask{Attempt: int(c.tries) + 1, When: Sent, Cause: c.cause, Sent: c.at}, rnd)
	}
	return Command{}
}

// send asks the gates about the try that is due and sends it.
func (c *Call) send(a Ask, rnd draw.Rand) Command {
	if !c.policy.gates.Allow(c.at, a, rnd) {
		if a.Attempt > 1 {
			a.When, a.Sent = Scheduled, 0
			c.policy.gates.Observe(c.at, a, work.Result{})
		}
		return c.stop(GateRefused)
	}
	resume := c.policy.spec.Resume && c.cause == Timeout
	c.tries++
	if !resume {
		c.attempts++
	}
	c.state = open
	return Command{Kind: Send, At: c.Deadline(), Resume: resume}
}

// reply ends the try under way and decides about the next.
func (c *Call) reply(now work.Instant, r work.Result, rnd draw.Rand) Command {
	p := c.policy
	p.gates.Observe(now, Ask{Attempt: int(c.tries), When: Sent, Cause: c.cause, Sent: c.at}, r)
	cause := causeOf(r.Outcome)
	switch {
	case cause == 0:
		return c.stop(Success)
	case r.DoNotRetry || p.causes&(1<<cause) == 0:
		return c.stop(NotRetryable)
	case c.tries >= p.attempts:
		return c.stop(OutOfAttempts)
	}
	c.pause = p.spec.Backoff.pause(int(c.tries), c.pause, rnd)
	wait := c.pause
	if p.spec.RetryAfter == Honour {
		wait = max(wait, min(r.RetryAfter, MaxWait))
	}
	due := now.Add(wait)
	if due >= c.limit() {
		return c.stop(OutOfTime)
	}
	if !p.gates.Allow(now, Ask{Attempt: int(c.tries) + 1, When: Scheduled, Cause: cause}, rnd) {
		return c.stop(GateRefused)
	}
	c.state, c.cause, c.at = paused, cause, due
	return Command{Kind: Wait, At: due}
}

func (c *Call) stop(why Why) Command {
	c.state = over
	return Command{Kind: Stop, Why: why}
}
