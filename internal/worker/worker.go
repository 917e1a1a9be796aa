// Package worker is the live backend: workers that lease units from an API
// server, take their time over them as a service.Model says, and report.
//
//	dispatcher ── POST done + want ──> API server ── leases ──> running jobs
//	     ^                                                          |
//	     └────────────────────── end of a job ──────────────────────┘
//
// One dispatcher serves all workers: what ends within a millisecond goes out in
// one request, which also asks for as much new work as there are idle workers.
// Nothing is fetched ahead, so that the server decides as late as possible.
package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"shedload/internal/service"
	"shedload/internal/work"
)

// The bounds and defaults.
const (
	MaxWorkers   = 10_000
	defaultGrace = 10 * time.Second
	// batch is the least time between two requests: at 8,000 units a second it
	// saves nine requests in ten, and it costs a worker half a millisecond at
	// most. A request after a quiet millisecond leaves at once.
	batch = time.Millisecond
	// maxBatch bounds the reports and the wishes of one request. Workers that run
	// in step would otherwise all stand idle while one long answer is made.
	maxBatch = 50
)

// Sleeper puts the dispatcher to sleep. The contract is that of a precise
// pacing thread, which a program passes in as Config.Pace.
type Sleeper interface {
	// Sleep returns after d, or earlier when Wake was called, or for no reason.
	Sleep(d time.Duration)
	// Wake ends the present sleep or the next one. Any goroutine may call it.
	Wake()
}

// Work says what a worker does during a service time.
type Work uint8

// The kinds of work.
const (
	Sleep Work = iota // waits, like a service that is bound by another one
	CPU               // burns processor time
)

// Config is what a Worker is made of.
type Config struct {
	// API is the base URL of the server's worker listener.
	API string
	// Name tells this process from others; it must be unique per server.
	Name string
	// Workers is how many units are worked on at once, 1 to MaxWorkers.
	Workers int
	// Model says how long work takes. The worker is its only user from New on.
	Model *service.Model
	// Classes are the names that leases use, by the model's index.
	Classes []string
	Work    Work
	// Clock is the time that faults are placed in; nil counts from New.
	Clock func() work.Instant
	// Pace calls its argument with a Sleeper and returns when that does. Nil is
	// an ordinary timer, which the runtime rounds up to a millisecond when idle.
	Pace func(func(Sleeper)) error
	// Dial replaces TCP in tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Guard wraps the admin handler with the rule about who may change things;
	// nil leaves that to the caller.
	Guard func(http.Handler) http.Handler
	// Grace bounds how long running work is waited for at shutdown; 0 is 10 s.
	Grace time.Duration
	Log   *zap.Logger // nil is silent
}

// Worker is N workers behind one dispatcher. Its methods are safe for concurrent use.
type Worker struct {
	config  Config
	client  *http.Client
	classes map[string]uint8
	log     *zap.Logger

	exchanges sync.WaitGroup // requests and burning jobs in progress
	base      context.Context
	abort     context.CancelFunc // ends all requests

	mu      sync.Mutex
	model   *service.Model
	running runningHeap
	reports []report
	sleeper Sleeper // nil when the dispatcher does not run
	numbers Numbers
	faults  []standing
	asked   int          // workers that an unanswered request asks work for
	open    int          // unanswered requests
	until   work.Instant // the dispatcher sleeps until then
	sendAt  work.Instant // no request before, unless it is full
	retryAt work.Instant // no request before at all
	backoff backoff
	closing bool
	left    bool // the server has been told that we leave

	failedAt work.Instant // the last failure that lengthened the backoff
	giveUp   work.Instant // end of the grace
}

// Numbers counts what a Worker does and did. Times are sums over all workers.
type Numbers struct {
	Workers   int           // configured
	Capacity  int           // that may work now, by the faults in force
	Busy      int           // that work now
	Finished  int64         // jobs done
	Late      int64         // of them, done after the deadline that came with the lease
	Stale     int64         // reported after the server had given the lease up for lost
	WorkTime  time.Duration // spent on jobs
	Wasted    time.Duration // of it, on late or stale ones
	Exchanges int64         // requests answered
	Failures  int64         // requests that were not
}

// New returns a Worker, or says what is wrong with c.
func New(c Config) (*Worker, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.API = strings.TrimSuffix(c.API, "/")
	if c.Clock == nil {
		start := time.Now()
		c.Clock = func() work.Instant { return work.Instant(time.Since(start)) }
	}
	if c.Pace == nil {
		c.Pace = func(f func(Sleeper)) error { f(newTimer()); return nil }
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	w := &Worker{config: c, model: c.Model, client: newClient(c), classes: map[string]uint8{}, log: c.Log}
	if w.log == nil {
		w.log = zap.NewNop()
	}
	for i, name := range c.Classes {
		w.classes[name] = uint8(i)
	}
	w.base, w.abort = context.WithCancel(context.Background())
	w.numbers.Workers = c.Workers
	w.until = work.Never
	return w, nil
}

func (c Config) check() error {
	switch {
	case c.API == "":
		return errors.New("worker: the URL of the API server is missing")
	case c.Name == "":
		return errors.New("worker: the name is missing")
	case c.Workers < 1 || c.Workers > MaxWorkers:
		return fmt.Errorf("worker: %d workers: allowed are 1 to %d", c.Workers, MaxWorkers)
	case c.Model == nil:
		return errors.New("worker: the service-time model is missing")
	case len(c.Classes) > work.MaxClasses:
		return fmt.Errorf("worker: %d classes: at most %d are allowed", len(c.Classes), work.MaxClasses)
	}
	return nil
}

// Run works until ctx ends; then it takes no more, finishes and reports what is
// running, for the grace at most, and returns. It must be called once. The error
// is that of Config.Pace.
func (w *Worker) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.close)
	defer stop()
	err := w.config.Pace(w.dispatch)
	w.abort()
	w.exchanges.Wait()
	w.client.CloseIdleConnections()
	return err
}

func (w *Worker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	w.giveUp = w.config.Clock().Add(w.config.Grace)
	w.wakeLocked()
}

// Numbers returns the present counts.
func (w *Worker) Numbers() Numbers {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.numbers
	n.Capacity = w.model.Capacity(n.Workers, w.config.Clock())
	return n
}
