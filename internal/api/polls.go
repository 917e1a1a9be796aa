package api

import (
	"context"
	"time"

	"shedload/internal/admit"
	"shedload/internal/work"
)

// poll is a worker's request for work. It is on the list of idle polls until it
// is answered, its time is over, or its connection is gone. A unit is taken for
// a poll only while it is on the list.
type poll struct {
	ready      chan struct{} // has room for one
	timer      *time.Timer
	prev, next *poll
	ctx        context.Context
	member     *member
	want       int
	parked     bool
	units      []work.Unit // what was taken for it
	load       admit.Load  // at the hand-off; without PerClass
	handed     work.Instant
}

func (s *Server) newPoll(ctx context.Context, m *member, want int) *poll {
	p, ok := s.pools.polls.Get().(*poll)
	if !ok {
		p = &poll{ready: make(chan struct{}, 1), timer: stoppedTimer()}
	}
	p.ctx, p.member, p.want = ctx, m, want
	return p
}

func (s *Server) freePoll(p *poll) {
	p.ctx, p.member, p.units = nil, nil, p.units[:0]
	s.pools.polls.Put(p)
}

// pollList holds the idle polls in the order of their arrival.
type pollList struct {
	first, last *poll
	length      int
}

func (l *pollList) push(p *poll) {
	p.parked, p.prev, p.next = true, l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
	l.length++
	p.member.parked++
}

func (l *pollList) remove(p *poll) {
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.parked, p.prev, p.next = false, nil, nil
	l.length--
	p.member.parked--
}

// maxInService bounds the leases: polls wait beyond it.
const maxInService = 1_000_000

// dispatchLocked hands queued units to the polls that have been idle longest.
func (s *Server) dispatchLocked() {
	for s.polls.first != nil && s.station.Load().Queued > 0 {
		p := s.polls.first
		if p.ctx.Err() != nil { // its handler is about to take it off, too
			s.polls.remove(p)
			continue
		}
		if !s.fillLocked(p) {
			return
		}
		s.releaseLocked(p)
	}
}

// releaseLocked lets a parked poll answer, with what it has.
func (s *Server) releaseLocked(p *poll) {
	s.polls.remove(p)
	p.ready <- struct{}{}
}

// fillLocked takes as many units as the poll has idle workers; false when there
// was none. The take is as late as it can be: the queue decides at the hand-off.
func (s *Server) fillLocked(p *poll) bool {
	for len(p.units) < p.want && s.station.Load().InService < maxInService {
		u, ok := s.station.Take(s.now)
		if !ok {
			break
		}
		rec := s.ops.records[u.ID]
		rec.place, rec.started = inService, s.now
		s.ops.records[u.ID] = rec
		p.units = append(p.units, u)
	}
	p.load, p.handed = s.station.Load(), s.now
	p.load.PerClass = nil // it is the station's own
	return len(p.units) > 0
}

// idlePoll waits until the poll has units. False means that nothing is to be
// answered: the connection is gone, and what was taken for it is lost, once.
func (s *Server) idlePoll(p *poll) bool {
	select {
	case <-p.ready: // there was work already
	default:
		s.hold(p)
	}
	if p.ctx.Err() != nil {
		s.lose(p)
		return false
	}
	return true
}

// hold waits until the poll is released, its time is over or its connection gone.
func (s *Server) hold(p *poll) {
	p.timer.Reset(s.config.LeaseHold)
	select {
	case <-p.ready:
	case <-p.timer.C:
		s.unpark(p)
	case <-p.ctx.Done():
		s.unpark(p)
	}
	p.timer.Stop()
}

// unpark takes the poll off the list, unless it was handed units meanwhile.
func (s *Server) unpark(p *poll) {
	s.lock(s.clock())
	if p.parked {
		s.polls.remove(p)
	}
	s.unlock()
	select {
	case <-p.ready: // the hand-off was first
	default:
	}
}

// lose records that the units taken for a poll never reached a worker.
func (s *Server) lose(p *poll) {
	if len(p.units) == 0 {
		return
	}
	now := s.lock(s.clock())
	defer s.unlock()
	s.counts.Broken++
	for _, u := range p.units {
		s.station.Lose(u.ID, now)
	}
}
