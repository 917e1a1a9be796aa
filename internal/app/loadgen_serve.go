package app

import (
	"context"
	"net/http"
	"strings"

	"github.com/oklog/run"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"shedload/internal/api"
	"shedload/internal/boot"
	"shedload/internal/client"
	"shedload/internal/control"
	"shedload/internal/metrics"
	"shedload/internal/scenario"
)

// targetDefault is where an apiserver listens when nothing else is said.
const targetDefault = "http://127.0.0.1:8080"

func (c *cli) serve() *cobra.Command {
	var yesRemote bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Play baseline load without an end, and take spikes", Args: cobra.NoArgs,
		Long: `Play the clients of a scenario without an end against a running apiserver, and listen for
spikes, changes of the rate, and scrapes of metrics. Phases and faults of the scenario are
not played: trouble comes from loadgen spike. Stops at an interrupt, with exit code 0.

Variables (name, default, meaning):
` + variables(),
		Example: "  loadgen serve\n  SHEDLOAD_SCENARIO=shed-your-load/fifo SHEDLOAD_CONTROL_ADDR=127.0.0.1:9102 loadgen serve",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.runServe(cmd.Context(), yesRemote) },
	}
	cmd.Flags().BoolVar(&yesRemote, "yes-remote", false, "allow a target that is neither on this machine nor in a private network")
	return cmd
}

// variables is the table of our environment.
func variables() string {
	vars, err := boot.Vars(new(boot.Loadgen))
	if err != nil {
		panic(err) // a bug in a struct tag
	}
	var b strings.Builder
	_ = boot.WriteTable(&b, vars) // a Builder takes everything
	return strings.TrimRight(b.String(), "\n")
}

// runServe plays until ctx ends.
//
//	people ── control ── spikes, rates ──> control.Service ── attempts ──> target
//	                                            │
//	                         /metrics <── readings, events
func (c *cli) runServe(ctx context.Context, yesRemote bool) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	plan, err := servedPlan(config.Scenario)
	if err != nil {
		return err
	}
	lanes := servedLanes(&config)
	for _, l := range lanes {
		if err := guard(ctx, "target", l.Target.Public, yesRemote); err != nil {
			return err
		}
	}
	client.MoreProcs()
	log := boot.Logger(c.stderr, config.LogLevel)
	boot.LogEffective(log, &config)

	registry := metrics.NewRegistry("loadgen", boot.Effective(&config))
	reader := &clientReader{plan: plan}
	for i := range lanes {
		read := func() metrics.ClientReading { return reader.read(i) }
		lanes[i].Observe = metrics.NewClient(registry, lanes[i].Run, metrics.Bounds{Patience: plan.Recovery.Patience}, read).Observe
	}
	service, err := control.NewService(control.ServiceConfig{
		Plan: plan, Log: log, Guard: api.Guard{Token: config.AdminToken, Open: config.AdminOpen}.Wrap, Lanes: lanes,
	})
	if err != nil {
		return err
	}
	reader.service = service

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(registry))
	mux.Handle("/", service.Handler())
	servers, err := listen(log, boot.Endpoint{Name: "control", Addr: config.ControlAddr, Handler: mux})
	if err == nil {
		err = announce(log, program{name: "loadgen"}, config.Common, c.stdout, servers)
	}
	if err != nil {
		return invalid(err)
	}
	for _, l := range lanes {
		log.Info("playing", zap.String("scenario", plan.Scenario+"/"+plan.Variant), zap.String("run", l.Run), zap.String("target", l.Target.Public))
	}

	var g run.Group
	boot.AddStops(ctx, &g, config.Child, stdin)
	boot.AddTask(&g, service.Run)
	boot.AddServers(&g, listenerGrace, servers...)
	c.code = ended(log, g.Run())
	return nil
}

// servedPlan returns the plan whose clients are played: the first that the name selects.
func servedPlan(name string) (scenario.Plan, error) {
	choices, err := choose([]string{name}, nil)
	if err != nil {
		return scenario.Plan{}, boot.Wrong("SCENARIO", name, err.Error())
	}
	return choices[0].plans[0], nil
}

// servedLanes are the systems that get the load: those that LANES names, or else one.
func servedLanes(c *boot.Loadgen) []control.Lane {
	if len(c.Lanes) == 0 {
		return []control.Lane{{Run: c.Run, Target: servedTarget(c)}}
	}
	lanes := make([]control.Lane, len(c.Lanes))
	for i, l := range c.Lanes {
		lanes[i] = control.Lane{Run: l.Run, Target: control.Target{Public: string(l.Target), APIAdmin: string(l.Admin), Token: c.AdminToken}}
	}
	return lanes
}

// servedTarget is the system that the environment names, or else one on this
// machine at its default addresses.
func servedTarget(c *boot.Loadgen) control.Target {
	t := control.Target{
		Public: string(c.TargetURL), APIAdmin: string(c.APIAdminURL), BackendAdmin: string(c.BackendAdminURL), Token: c.AdminToken,
	}
	if t.Public == "" {
		t.Public, t.APIAdmin = targetDefault, or(t.APIAdmin, adminDefault)
	}
	return t
}

// clientReader reads a service for the metrics. read is safe for concurrent use once
// service is set.
type clientReader struct {
	plan    scenario.Plan
	service *control.Service
}

func (r *clientReader) read(i int) metrics.ClientReading {
	lane := r.service.Lane(i)
	groups := make([]metrics.GroupReading, len(lane.Stats.Groups))
	for i, g := range lane.Stats.Groups {
		groups[i] = metrics.GroupReading{Name: g.Name, Gates: g.Gates}
	}
	return metrics.ClientReading{
		Classes: names(r.plan.WorkClasses()), Totals: lane.Totals, Second: lane.Second, State: lane.State,
		InFlight: lane.Stats.InFlight, Phases: []string{control.SpikePhase}, Phase: lane.Stats.Phase,
		PhaseStart: r.service.PhaseStart(), Patience: r.plan.Recovery.Patience, Groups: groups,
	}
}

func (c *cli) healthcheck() *cobra.Command {
	return &cobra.Command{
		Use: "healthcheck", Short: "Exit 0 when the loadgen that serves here is ready", Args: cobra.NoArgs,
		Long:    "Ask the loadgen that serves at SHEDLOAD_CONTROL_ADDR whether it is ready. Exit code 0 when it is, else 1.",
		Example: "  loadgen healthcheck",
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := c.config()
			if err != nil {
				return err
			}
			c.code = healthcheck(cmd.Context(), config.ControlAddr, c.stderr)
			return nil
		},
	}
}
