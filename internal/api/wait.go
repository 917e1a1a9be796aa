package api

import (
	"context"
	"sync"
	"time"

	"shedload/internal/work"
)

// waiter is one request whose answer is held back until an operation ends.
// Waiters are used again, timer and channel included.
type waiter struct {
	wake  chan struct{} // has room for one
	timer *time.Timer
	next  *waiter // of the same operation
	// abandons: its client leaves the operation when it leaves the wait.
	abandons bool
	rec      record // how it ended, or was when the wait was over
	result   work.Result
}

// pools keep what each request needs for a moment. They belong to the server and
// not to the package, because timers and channels cannot cross a synctest bubble.
type pools struct{ waiters, polls, buffers sync.Pool }

func (s *Server) newWaiter() *waiter {
	if w, ok := s.pools.waiters.Get().(*waiter); ok {
		return w
	}
	return &waiter{wake: make(chan struct{}, 1), timer: stoppedTimer()}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// waitLocked registers a waiter for the operation.
func (s *Server) waitLocked(id uint64) *waiter {
	w := s.newWaiter()
	w.abandons, w.next = false, s.waits[id]
	s.waits[id] = w
	return w
}

// wakeLocked tells all who wait for the operation how it ended.
func (s *Server) wakeLocked(id uint64, rec record, res work.Result) {
	first, ok := s.waits[id]
	if !ok {
		return
	}
	delete(s.waits, id)
	for w := first; w != nil; {
		next := w.next // a woken waiter may be in use again at once
		w.next, w.rec, w.result = nil, rec, res
		w.wake <- struct{}{}
		w = next
	}
}

// unwaitLocked takes a waiter off; false when it was woken meanwhile.
func (s *Server) unwaitLocked(id uint64, w *waiter) bool {
	first, ok := s.waits[id]
	if !ok {
		return false
	}
	if first == w {
		if w.next == nil {
			delete(s.waits, id)
		} else {
			s.waits[id] = w.next
		}
		w.next = nil
		return true
	}
	for p := first; p.next != nil; p = p.next {
		if p.next == w {
			p.next, w.next = w.next, nil
			return true
		}
	}
	return false
}

// waited is how a wait ended.
type waited uint8

const (
	told   waited = iota // the waiter holds how the operation ended
	inTime               // the time was over first
	gone                 // the client was gone first
)

// await blocks until the operation has ended, the time is over, or the client is
// gone. What is true under the lock counts: an end at the last instant is told.
func (s *Server) await(ctx context.Context, id uint64, w *waiter, d time.Duration) waited {
	w.timer.Reset(max(d, 0))
	select {
	case <-w.wake:
		w.timer.Stop()
		return told
	case <-w.timer.C:
		return s.leaveWait(id, w, inTime)
	case <-ctx.Done():
		w.timer.Stop()
		return s.leaveWait(id, w, gone)
	}
}

func (s *Server) leaveWait(id uint64, w *waiter, how waited) waited {
	now := s.lock(s.clock())
	defer s.unlock()
	// Bringing the server up to now may just have woken it.
	if !s.unwaitLocked(id, w) {
		<-w.wake
		return told
	}
	w.rec = s.ops.records[id]
	if how == gone && w.abandons {
		s.abandonLocked(id, now)
	}
	return how
}

// leaveGrace is for how long after its deadline an operation still waits for its
// client to leave, where leaving matters: a client that cancels does so at its
// deadline, and an answer at that very instant would race it and keep the work.
// It is shorter than the time for which other clients wait for that answer.
const leaveGrace = 25 * time.Millisecond

func (s *Server) leaveGraceLocked() time.Duration {
	if s.policy.cancelAbandoned {
		return leaveGrace
	}
	return 0
}

// abandonLocked frees the operation's work if that is wanted and nobody else
// waits for it. Otherwise the work goes on, as in a pipeline that cannot know.
func (s *Server) abandonLocked(id uint64, now work.Instant) {
	if _, others := s.waits[id]; s.policy.cancelAbandoned && !others {
		s.station.Leave(id, now)
	}
}
