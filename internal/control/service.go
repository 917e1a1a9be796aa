package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"shedload/internal/arrival"
	"shedload/internal/client"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// Lane is one target that a service plays the plan's clients to.
type Lane struct {
	Run    string // its name: the value of the run label
	Target Target
	// Observe is called with each event of the lane's client view, under the lane's
	// lock: it must be quick. Nil for nobody.
	Observe func(ledger.Event)
}

// ServiceConfig is what a Service plays.
type ServiceConfig struct {
	// Plan gives the clients and their rates. Its phases, faults and horizon are not played.
	Plan  scenario.Plan
	Lanes []Lane
	Plain client.Plain
	// Guard wraps the handler with the rule about who may change things; nil leaves
	// that to the caller.
	Guard func(http.Handler) http.Handler
	Log   *zap.Logger
}

// MaxLanes bounds the lanes of a service.
const MaxLanes = 8

// SpikePhase is the name of the phase that a spike is.
const SpikePhase = "spike"

// Service is load without an end: identical arrivals in every lane, and spikes
// when somebody asks. Methods are safe for concurrent use.
type Service struct {
	config ServiceConfig
	lanes  []*lane

	mu    sync.Mutex
	start time.Time // instant 0 of all lanes; zero before
	spike *spike    // the last one
	rates map[string]float64
}

type spike struct {
	request SpikeRequest
	from    time.Time
	to      time.Time
}

// NewService returns a service, or says what about c cannot be.
func NewService(c ServiceConfig) (*Service, error) {
	if len(c.Lanes) < 1 || len(c.Lanes) > MaxLanes {
		return nil, fmt.Errorf("%d lanes: allowed are 1 to %d", len(c.Lanes), MaxLanes)
	}
	s := &Service{config: c, rates: map[string]float64{}}
	for _, k := range c.Plan.Clients {
		if k.Users == 0 {
			s.rates[k.Name] = k.Arrivals.Rate
		}
	}
	seen := map[string]bool{}
	for _, l := range c.Lanes {
		if seen[l.Run] {
			return nil, fmt.Errorf("lane %q: the name is taken", l.Run)
		}
		seen[l.Run] = true
		made, err := newLane(c, l)
		if err != nil {
			return nil, fmt.Errorf("lane %q: %w", l.Run, err)
		}
		s.lanes = append(s.lanes, made)
	}
	return s, nil
}

// prepareTimeout bounds the first connection to each target.
const prepareTimeout = 3 * time.Second

// Run plays until ctx ends. A target that cannot be reached is no reason to stop:
// its clients try again, as clients do.
func (s *Service) Run(ctx context.Context) error {
	for _, l := range s.lanes {
		if err := l.prepare(ctx); err != nil {
			s.config.Log.Warn("target not reached yet", zap.String("run", l.config.Run), zap.Error(err))
		}
	}
	start := time.Now().Add(leadTime)
	s.mu.Lock()
	s.start = start
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, l := range s.lanes {
		wg.Go(func() {
			if err := l.generator.Run(ctx, start); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("lane %q: %w", l.config.Run, err))
			}
		})
		wg.Go(func() { l.follow(ctx) })
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Why a spike must wait.
var (
	errBusy     = errors.New("a spike is under way")
	errNotBegun = errors.New("the load has not begun")
)

// begun reports whether the load is on.
func (s *Service) begun(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.start.IsZero() && !now.Before(s.start)
}

// Spike brings a spike into all lanes, from now on.
func (s *Service) Spike(r SpikeRequest) error {
	now := time.Now()
	if !s.begun(now) {
		return errNotBegun
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spike != nil && now.Before(s.spike.to) {
		return fmt.Errorf("%w: it ends in %s", errBusy, s.spike.to.Sub(now).Round(100*time.Millisecond))
	}
	p := arrival.Phase{Name: SpikePhase, At: now.Sub(s.start), For: time.Duration(r.For), Rate: r.Rate, Factor: r.Factor, Client: r.Client}
	for _, l := range s.lanes {
		// All lanes have the same clients, so that all take it or the first refuses.
		if err := l.generator.AddPhase(p); err != nil {
			return err
		}
	}
	s.spike = &spike{request: r, from: now, to: now.Add(time.Duration(r.For))}
	s.config.Log.Info("spike", zap.Float64("rate", r.Rate), zap.Float64("factor", r.Factor), zap.Duration("for", time.Duration(r.For)))
	return nil
}

// SetRate changes the rate of a client, or of the only one, in all lanes.
func (s *Service) SetRate(name string, rate float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" && len(s.rates) == 1 {
		for only := range s.rates {
			name = only
		}
	}
	if _, ok := s.rates[name]; !ok {
		return fmt.Errorf("client %q has no rate that could be changed", name)
	}
	for _, l := range s.lanes {
		if err := l.generator.SetRate(name, rate); err != nil {
			return err
		}
	}
	s.rates[name] = rate
	s.config.Log.Info("rate changed", zap.String("client", name), zap.Float64("rate", rate))
	return nil
}

// baseline is what a healthy service would deliver: the rates outside spikes.
func (s *Service) baseline() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0.0
	for _, rate := range s.rates {
		sum += rate
	}
	return sum
}
