package api

import (
	"time"

	"shedload/internal/work"
)

// maxMembers bounds the worker processes that are known at a time.
const maxMembers = 1024

// member is a process that leases work.
type member struct {
	workers int
	parked  int // polls that wait
	seen    work.Instant
}

// registry knows the processes that lease work, by the name they give.
type registry struct{ members map[string]*member }

// seen notes that a process has spoken; nil when there are too many already.
func (r *registry) seen(req *leaseRequest, now work.Instant) *member {
	m := r.members[req.Worker]
	if m == nil {
		if len(r.members) >= maxMembers {
			return nil
		}
		m = &member{}
		r.members[req.Worker] = m
	}
	m.seen, m.workers = now, max(m.workers, req.Want)
	if req.Workers > 0 {
		m.workers = req.Workers
	}
	return m
}

// expire drops the processes that have been silent for longer than any work
// takes: one that neither waits for work nor reports some is gone.
func (r *registry) expire(now work.Instant, silence time.Duration) {
	for name, m := range r.members {
		if m.parked == 0 && now.Sub(m.seen) > silence {
			delete(r.members, name)
		}
	}
}

// total is the number of workers of all live processes.
func (r *registry) total() int {
	n := 0
	for _, m := range r.members {
		n += m.workers
	}
	return n
}

// countWorkersLocked tells the station how many workers there are. Without any
// it keeps the last number: rates are predicted from it.
func (s *Server) countWorkersLocked() {
	if n := s.workers.total(); n > 0 && n != s.station.Load().Workers {
		s.station.SetWorkers(n)
	}
}

// silenceLocked is how long a worker process may be silent before it counts as gone.
func (s *Server) silenceLocked() time.Duration {
	if t := s.station.Config().LeaseTimeout; t > 0 {
		return t
	}
	return 3 * s.config.LeaseHold
}
