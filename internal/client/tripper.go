package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"shedload/internal/client/wire"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// tripper is a carrier: net/http, with a goroutine for each attempt. It carries
// what raw connections cannot: HTTP/2, TLS, and polling. It is under the
// generator's lock.
type tripper struct {
	m       *member
	trip    http.RoundTripper
	waiting heap[*flight] // those that have not left, and some that have
}

// flight is an attempt under way.
type flight struct {
	shot
	t      *tripper
	cancel context.CancelFunc
	state  flightState // under the generator's lock
}

func (f *flight) when() work.Instant { return f.attempt.Deadline }

type flightState uint8

const (
	grounded flightState = iota // waits for a connection
	aloft                       // has left
	landed                      // is over
)

func newTripper(m *member, conns int) *tripper {
	slots := make(chan struct{}, maxDialers)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			return m.g.connect(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	transport := &http.Transport{
		DialContext: dial, DisableCompression: true, Protocols: new(http.Protocols),
		MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, IdleConnTimeout: maxIdle, MaxResponseHeaderBytes: wire.MaxHead,
	}
	transport.Protocols.SetHTTP1(m.spec.Protocol == scenario.H1)
	transport.Protocols.SetUnencryptedHTTP2(m.spec.Protocol == scenario.H2C)
	context.AfterFunc(m.g.ctx, transport.CloseIdleConnections)
	return &tripper{m: m, trip: transport}
}

// launch implements carrier.
func (t *tripper) launch(s shot) {
	for len(t.waiting) > 0 && t.waiting[0].state != grounded {
		t.waiting.pop()
	}
	g := t.m.g
	if s.tooLate(g.now()) {
		return
	}
	f := &flight{shot: s, t: t}
	t.waiting.push(f)
	end := g.start.Add(time.Duration(s.attempt.Deadline) + t.m.grace)
	var ctx context.Context
	ctx, f.cancel = context.WithDeadline(g.ctx, end)
	g.wg.Go(func() { f.fly(ctx) })
}

// expire implements carrier.
func (t *tripper) expire(at work.Instant) {
	for len(t.waiting) > 0 && t.waiting.next() <= at {
		if f := t.waiting.pop(); f.state == grounded {
			f.ground(kindNoConnection)
		}
	}
}

// ground gives up a flight that has not left.
func (f *flight) ground(why errorKind) {
	f.state = landed
	f.cancel()
	f.unsent(why)
}

// fly is the attempt's goroutine.
func (f *flight) fly(ctx context.Context) {
	defer f.cancel()
	a, err := f.exchange(ctx)
	g := f.member.g
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case f.state == landed:
	case f.state == grounded && err == nil:
		panic("client: an answer to a request that never left")
	case f.state == grounded:
		f.ground(kindOf(err))
	case errors.Is(err, context.DeadlineExceeded):
		f.cutOff()
	case err != nil:
		f.broke(err)
	default:
		f.answered(a)
	}
	f.state = landed
	g.flush()
}

// leave is called when the request has a connection and is written next, by the
// goroutine that writes it; more than once if net/http tries another connection.
func (f *flight) leave(h http.Header) {
	g := f.member.g
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	left := f.attempt.Deadline.Sub(now)
	switch {
	case f.state == landed || g.over:
		f.cancel()
	case left < minLeft && f.state == grounded:
		f.ground(kindTooLate)
	case f.state == grounded:
		f.state = aloft
		f.sent(now)
	}
	setLeft(h, left)
	g.flush()
}
