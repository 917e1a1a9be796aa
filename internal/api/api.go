// Package api is the live server driver: it puts the pure station behind HTTP.
//
//	clients ── POST /v1/operations ──┐                       ┌── POST /v1/leases ── workers
//	                                 v                       v
//	                  waits <── operations ── station ── polls
//	                                              |
//	                                              v
//	                       admin ── ledger, policy, health
//
// One mutex guards all of it; what is done under it is short and does not block.
// Methods that need it held end in Locked.
package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"shedload/internal/ledger"
	"shedload/internal/station"
	"shedload/internal/work"
)

// The defaults of a Config.
const (
	DefaultRetention = 60 * time.Second
	DefaultMaxBody   = 64 << 10
	DefaultLeaseHold = 20 * time.Second
	DefaultGrace     = 10 * time.Second
)

// Config is what a Server is made of.
type Config struct {
	Station station.Config
	// SilentDrops keeps from a waiting client that its unit was dropped: it learns
	// nothing before its deadline.
	SilentDrops bool
	// CancelAbandoned takes a unit off the queue when its client leaves.
	CancelAbandoned bool
	// Retention is how long an operation that has ended can be asked for; 0 is 60 s.
	Retention time.Duration
	// MaxBody bounds the body of an operation, in bytes; 0 is 64 KiB.
	MaxBody int64
	// LeaseHold is how long a worker's request for work is held; 0 is 20 s.
	LeaseHold time.Duration
	// Grace bounds how long Shutdown waits for the reports of leased work; 0 is 10 s.
	Grace time.Duration
	// Guard says who may change things on the admin handler.
	Guard Guard
	// Clock is the time of the station; it must not go backwards. Nil counts from New.
	Clock func() work.Instant
	// Observe is called with each event of the station, under the server's lock:
	// it must be quick and must not call the server. Nil for nobody.
	Observe func(ledger.Event)
	Log     *zap.Logger // nil is silent
}

// Server is the API server without its listeners. Its methods are safe for
// concurrent use.
type Server struct {
	config Config
	clock  func() work.Instant
	epoch  time.Time // the wall clock's reading at instant 0
	ids    ids
	log    *zap.Logger
	class  []work.Class // by index; never changes
	pools  pools
	kick   chan struct{} // wakes Run when something is due earlier than it sleeps
	idle   chan struct{} // closed when the server is closing and no unit is in service

	mu       sync.Mutex
	now      work.Instant // the latest instant that the station has seen
	station  *station.Station
	ops      operations
	waits    map[uint64]*waiter // by operation, the first of a list
	polls    pollList
	workers  registry
	run      run
	arriving arrival
	policy   policy
	counts   Counts
	tickAt   work.Instant // when Run will look next
	sequence uint64       // of the last operation
	closing  bool
}

// policy is the part of the configuration that can be switched and is not the station's.
type policy struct{ silentDrops, cancelAbandoned bool }

// Counts are numbers of the driver itself, which the ledger does not have.
type Counts struct {
	Resumed   int64 // starts that joined a pending operation by their Idempotency-Key
	Malformed int64 // requests of workers and admins that could not be understood
	Broken    int64 // hand-offs to polls that turned out to be dead
}

// New returns a Server, or says what is wrong with c.
func New(c Config) (*Server, error) {
	if c.Retention < 0 || c.MaxBody < 0 || c.LeaseHold < 0 || c.Grace < 0 {
		return nil, errors.New("api: retention, body limit, lease hold and grace must not be negative")
	}
	c.setDefaults()
	ids, err := newIDs()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s := &Server{
		config: c, clock: c.Clock, ids: ids, log: c.Log, class: c.Station.Classes,
		kick: make(chan struct{}, 1), idle: make(chan struct{}),
		ops: newOperations(c.Retention), waits: map[uint64]*waiter{},
		workers: registry{members: map[string]*member{}}, tickAt: work.Never,
		policy: policy{c.SilentDrops, c.CancelAbandoned},
	}
	s.now = s.clock()
	s.epoch = time.Now().Add(-time.Duration(s.now))
	if s.station, err = station.New(c.Station, host{s}, s.record); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s.run, err = newRun(runSpec{process: rand.Text(), classes: classNames(c.Station.Classes), base: s.now})
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	return s, nil
}

func (c *Config) setDefaults() {
	orDefault := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	orDefault(&c.Retention, DefaultRetention)
	orDefault(&c.LeaseHold, DefaultLeaseHold)
	orDefault(&c.Grace, DefaultGrace)
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Clock == nil {
		start := time.Now()
		c.Clock = func() work.Instant { return work.Instant(time.Since(start)) }
	}
}

// Public serves the clients: operations.
func (s *Server) Public() http.Handler { return http.HandlerFunc(s.public) }

// Workers serves the backends: leases.
func (s *Server) Workers() http.Handler { return http.HandlerFunc(s.leases) }

// lock takes the mutex and brings everything up to now, which it returns. The
// clock was read before the lock was got, so a later caller may have been
// faster: time stands still then instead of going back.
func (s *Server) lock(now work.Instant) work.Instant {
	s.mu.Lock()
	s.now = max(s.now, now)
	s.advanceLocked()
	return s.now
}

// unlock hands out what can be handed out before it gives the mutex back.
func (s *Server) unlock() {
	s.dispatchLocked()
	if next := s.station.NextTick(); next < s.tickAt {
		s.tickAt = next
		s.kickLocked()
	}
	if s.closing {
		s.signalIdleLocked()
	}
	s.mu.Unlock()
}

// kickLocked makes Run look again at what is due.
func (s *Server) kickLocked() {
	select {
	case s.kick <- struct{}{}:
	default: // it is awake already
	}
}

func classNames(classes []work.Class) []string {
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = c.Name
	}
	return names
}
