package scenario

import (
	"time"

	"shedload/internal/admit"
	"shedload/internal/arrival"
	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/queue"
	"shedload/internal/retry"
	"shedload/internal/service"
	"shedload/internal/station"
	"shedload/internal/work"
)

// Plan is one variant of a scenario with everything resolved: overrides merged,
// defaults filled in, times scaled. Both engines run exactly this.
type Plan struct {
	Scenario, Variant, About string

	Seed    draw.Seed
	Horizon time.Duration
	Warmup  time.Duration
	// TimeScale is what all times were multiplied, and all rates divided, by.
	TimeScale float64

	Server  Server
	Backend Backend
	Clients []Client
	Phases  []arrival.Phase
	Faults  []service.Fault
	Classes []Class
	End     End
	Model   Model

	Recovery ledger.VerdictConfig
	Windows  []ledger.WindowSpec
	Live     Live
	// Expect are the texts of the expectations that this plan's summary must meet.
	Expect []string

	expectations []expectation
	// unscaled are the keys of the file before a time_scale, with it; nil without one.
	unscaled map[string]any
}

// Server is the door and the queue. Its keys are the lower-case names of the
// apiserver's environment variables.
type Server struct {
	Discipline      queue.Discipline `yaml:"discipline" doc:"order and sheds, ORDER[+SHED...]: fifo, lifo, deadline, adaptive-lifo+controlled-delay, ..."`
	DropMargin      *queue.Margin    `yaml:"drop_margin" doc:"how long before its deadline a unit is dropped as doomed, or auto; only with a deadline shed"`
	SilentDrops     bool             `yaml:"silent_drops" doc:"a dropped unit tells its client nothing: the client waits out its patience"`
	CodelTarget     time.Duration    `yaml:"codel_target" doc:"the sojourn that codel and controlled-delay aim at"`
	CodelInterval   time.Duration    `yaml:"codel_interval" doc:"the interval of codel and controlled-delay"`
	Door            admit.Spec       `yaml:"door" doc:"who is let in"`
	HardLimit       int              `yaml:"queue_hard_limit" doc:"memory guard: units queued or at the door"`
	CancelAbandoned bool             `yaml:"cancel_abandoned" doc:"a client that leaves takes its queued unit with it"`
	LeaseTimeout    time.Duration    `yaml:"lease_timeout" doc:"how long a worker may keep a unit before it is lost"`
	RetryAfter      time.Duration    `yaml:"retry_after" doc:"Retry-After of refusals and drops; the header knows whole seconds only"`
	DoNotRetry      bool             `yaml:"do_not_retry" doc:"refusals and drops ask not to be retried"`
}

func (s *Server) defaults() {
	s.CodelTarget, s.CodelInterval = 5*time.Millisecond, 100*time.Millisecond
	s.HardLimit, s.LeaseTimeout = station.DefaultHardLimit, 10*time.Second
}

// Backend is the workers.
type Backend struct {
	Workers     int             `yaml:"workers" doc:"units worked on at once"`
	ServiceTime service.Spec    `yaml:"service_time" doc:"50ms, uniform:50ms,50.5ms, exp:50ms or lognormal:50ms,p99=200ms"`
	Work        WorkKind        `yaml:"work" doc:"sleep, or cpu: burn it (live only)"`
	Degrade     service.Degrade `yaml:"degrade" doc:"how service time grows with load"`
	// Bulkheads are by compartment.
	Bulkheads service.Bulkheads `yaml:"bulkheads" doc:"most workers that a compartment may keep busy; work beyond that fails at once"`
}

func (b *Backend) defaults() {
	b.Workers, b.Work = 4, WorkSleep
	b.ServiceTime = service.Spec{Kind: service.Fixed, A: 50 * time.Millisecond}
}

// Client is a group of users that behave alike.
type Client struct {
	Name string `yaml:"name" doc:"how results, phases and classes call it"`
	// Arrivals is the schedule of an open loop; zero with Users.
	Arrivals        arrival.Spec     `yaml:",inline"`
	Trace           string           `yaml:"trace" doc:"file of recorded arrivals, one a line, in whole ns since the start (arrivals: trace)"`
	Patience        time.Duration    `yaml:"patience" doc:"how long one attempt is waited for: its deadline; default 1s"`
	RequestDeadline time.Duration    `yaml:"request_deadline" doc:"shared by all attempts of a request; default none"`
	Wait            Wait             `yaml:"wait" doc:"how a client waits: post (default), poll, close or plain"`
	Protocol        Protocol         `yaml:"protocol" doc:"h1 (default) or h2c"`
	Retry           retry.Spec       `yaml:"retry" doc:"what is tried again, how often and when; default nothing"`
	Gates           []retry.GateSpec `yaml:"gates" doc:"budgets, throttles and breakers, shared by the users of one process"`
	Processes       int              `yaml:"processes" doc:"client processes that the group is spread over; each has its own gates; default 1"`
	Users           int              `yaml:"users" doc:"closed loop instead of arrivals: so many users, one request at a time each"`
	ThinkTime       service.Spec     `yaml:"think_time" doc:"closed loop: pause between an answer and the next request"`
}

func (c *Client) defaults() {
	c.Wait, c.Protocol, c.Processes, c.Patience = WaitPost, H1, 1, time.Second
}

// Class is a kind of request, and how many of them there are.
type Class struct {
	Name        string           `yaml:"name"`
	Criticality work.Criticality `yaml:"criticality" doc:"critical_plus, critical, sheddable_plus or sheddable"`
	Compartment string           `yaml:"compartment" doc:"the bulkhead it runs in; absent: shared with all others"`
	Share       float64          `yaml:"share" doc:"part of the requests, drawn by seed; the last class takes the rest"`
	Every       int              `yaml:"every" doc:"each n-th request: those whose number is divisible by n"`
	Client      string           `yaml:"client" doc:"all requests of this client"`
	ServiceTime *service.Spec    `yaml:"service_time" doc:"its own service time"`
}

// Work returns the class as servers know it.
func (c Class) Work() work.Class {
	return work.Class{Name: c.Name, Criticality: c.Criticality, Compartment: c.Compartment}
}

// WorkClasses returns the classes as servers know them.
func (p Plan) WorkClasses() []work.Class {
	out := make([]work.Class, len(p.Classes))
	for i, c := range p.Classes {
		out[i] = c.Work()
	}
	return out
}

// ClassNames returns the names of the classes, in the order of their indices.
func (p Plan) ClassNames() []string {
	out := make([]string, len(p.Classes))
	for i, c := range p.Classes {
		out[i] = c.Name
	}
	return out
}

// ClassOf returns the class of a client's n-th request, counted from 0: the first
// class that claims it. Shares are drawn, so that they do not depend on the engine.
func (p Plan) ClassOf(client int, n uint64) uint8 {
	rnd := p.Seed.For(draw.Key{Purpose: draw.ClassOf, Client: uint16(client), Request: n})
	left := float64(rnd.Below(1<<32)) / (1 << 32)
	for i, c := range p.Classes {
		switch {
		case c.Client != "":
			if c.Client == p.Clients[client].Name {
				return uint8(i)
			}
		case c.Every > 0:
			if n%uint64(c.Every) == 0 {
				return uint8(i)
			}
		case c.Share > 0:
			if left < c.Share {
				return uint8(i)
			}
			left -= c.Share
		default:
			return uint8(i)
		}
	}
	return uint8(max(0, len(p.Classes)-1))
}

// Schedule returns the arrivals of client group i; nil for a closed loop.
func (p Plan) Schedule(i int) (*arrival.Schedule, error) {
	c := p.Clients[i]
	if c.Users > 0 {
		return nil, nil
	}
	return arrival.New(c.Arrivals, arrival.PhasesOf(p.Phases, c.Name), p.Seed, uint16(i))
}

// Service returns the configuration of the plan's service-time model.
func (p Plan) Service() service.Config {
	perClass, compartments := make([]service.Spec, len(p.Classes)), make([]string, len(p.Classes))
	for i, c := range p.Classes {
		compartments[i] = c.Compartment
		if c.ServiceTime != nil {
			perClass[i] = *c.ServiceTime
		}
	}
	return service.Config{
		Seed: p.Seed, ServiceTime: p.Backend.ServiceTime, Classes: p.ClassNames(), PerClass: perClass,
		Compartments: compartments, Bulkheads: p.Backend.Bulkheads, Degrade: p.Backend.Degrade, Faults: p.Faults,
	}
}

// Ledger returns the configuration of the run's ledger. A plan that does not leave
// its work at the end has no horizon there: the driver closes the books.
func (p Plan) Ledger() ledger.Config {
	c := ledger.Config{
		Classes: p.ClassNames(), Horizon: work.Instant(p.Horizon), Windows: p.Windows, Resolution: p.Model.LatencyUnit,
	}
	if p.End.Queued != Leave || p.End.InService != Leave {
		c.Horizon = 0
	}
	return c
}

// Station returns the configuration of the plan's server.
func (p Plan) Station() station.Config {
	s := p.Server
	q := queue.Config{
		Discipline: s.Discipline, Margin: s.DropMargin, CodelTarget: s.CodelTarget, CodelInterval: s.CodelInterval,
		Workers: p.Backend.Workers, Classes: p.WorkClasses(),
	}
	return station.Config{
		Queue: q, Door: s.Door, Classes: p.WorkClasses(), HardLimit: s.HardLimit, LeaseTimeout: s.LeaseTimeout,
		RetryAfter: s.RetryAfter, DoNotRetry: s.DoNotRetry, Workers: p.Backend.Workers,
	}
}

// Population returns the behaviour of client group i.
func (p Plan) Population(i int) population.Spec { return p.Clients[i].population() }

func (c Client) population() population.Spec {
	return population.Spec{
		Name: c.Name, Patience: c.Patience, RequestDeadline: c.RequestDeadline,
		Retry: c.Retry, Gates: c.Gates, Users: c.Users, Think: c.ThinkTime,
	}
}
