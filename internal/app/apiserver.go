package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/oklog/run"
	"go.uber.org/zap"

	"shedload/internal/api"
	"shedload/internal/boot"
	"shedload/internal/metrics"
	"shedload/internal/queue"
	"shedload/internal/station"
)

var apiserver = program{
	name:  "apiserver",
	about: "takes operations at the door, queues them, and hands them to workers",
	examples: `  apiserver
  SHEDLOAD_QUEUE_DISCIPLINE=deadline SHEDLOAD_DROP_MARGIN=70ms apiserver
  SHEDLOAD_QUEUE_DISCIPLINE=adaptive-lifo+controlled-delay SHEDLOAD_DOOR=queue_limit:1000 apiserver
`,
	config: new(boot.APIServer),
}

// How long the steps of a shutdown may take: leased work to be reported, then each
// listener's last answers.
const (
	stationGrace  = 10 * time.Second
	listenerGrace = 2 * time.Second
)

// RunAPIServer is the apiserver. It returns the exit code when ctx ends.
//
//	clients ── public ───┐
//	backends ─ workers ──┼── api.Server ── events ──> histograms
//	people ─── admin ────┘       │
//	              └── /metrics <─┴─ readings of ledger and station
//
// Shutdown: the station closes and answers everybody who waits, leased work is
// reported or lost, then the listeners go.
func RunAPIServer(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	if code, done := apiserver.words(args, stdout, stderr); done {
		return code
	}
	c, err := boot.Load[boot.APIServer](apiserver.name, environ)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	if len(args) > 0 {
		return healthcheck(ctx, c.AdminAddr, stderr)
	}
	log := boot.Logger(stderr, c.LogLevel)
	boot.LogEffective(log, &c)

	// The station behind HTTP, and what is read and observed of it.
	registry := metrics.NewRegistry(apiserver.name, boot.Effective(&c))
	s, err := newAPIServer(&c, log, registry)
	if err != nil {
		fmt.Fprintln(stderr, apiserver.name+":", err)
		return exitUsage
	}
	admin := http.NewServeMux()
	admin.Handle("GET /metrics", metrics.Handler(registry))
	admin.Handle("/", s.Admin())

	conns := boot.ConnsAllowed(c.MaxConns)
	log.Info("client connections are bounded", zap.Int("allowed", conns), zap.Int("asked_for", c.MaxConns), zap.Int("file_limit", boot.FileLimit()))
	servers, err := listen(log,
		boot.Endpoint{Name: "public", Addr: c.ListenAddr, Handler: s.Public(), H2C: true, MaxConns: conns},
		boot.Endpoint{Name: "workers", Addr: c.WorkerAddr, Handler: s.Workers()},
		boot.Endpoint{Name: "admin", Addr: c.AdminAddr, Handler: admin},
	)
	if err == nil {
		err = announce(log, apiserver, c.Common, stdout, servers)
	}
	if err != nil {
		fmt.Fprintln(stderr, apiserver.name+":", err)
		return exitError
	}

	// They stop in this order.
	var g run.Group
	boot.AddStops(ctx, &g, c.Child, stdin)
	boot.AddShutdown(&g, stationGrace+time.Second, s.Shutdown)
	boot.AddTask(&g, s.Run)
	boot.AddServers(&g, listenerGrace, servers...)
	return ended(log, g.Run())
}

// newAPIServer returns the server and registers its metrics.
func newAPIServer(c *boot.APIServer, log *zap.Logger, registry *metrics.Registry) (*api.Server, error) {
	reader := &serverReader{hardLimit: c.HardLimit, classes: names(c.Classes)}
	margin := c.QueueDiscipline.Margin(c.DropMargin)
	events := metrics.NewServer(registry, metrics.Bounds{Patience: c.Patience, Margin: margin.D}, reader.read)
	s, err := api.New(api.Config{
		Station: station.Config{
			Queue: queue.Config{
				Discipline: c.QueueDiscipline, Margin: c.DropMargin, Classes: c.Classes,
				CodelTarget: c.CodelTarget, CodelInterval: c.CodelInterval,
			},
			Door: c.Door, Classes: c.Classes, HardLimit: c.HardLimit, LeaseTimeout: c.LeaseTimeout,
			RetryAfter: c.RetryAfter, DoNotRetry: c.DoNotRetry,
		},
		SilentDrops: c.SilentDrops, CancelAbandoned: c.CancelAbandoned, Retention: c.Retention, MaxBody: int64(c.MaxBodyBytes),
		Grace: stationGrace, Guard: api.Guard{Token: c.AdminToken, Open: c.AdminOpen}, Observe: events.Observe, Log: log,
	})
	reader.server = s
	return s, err
}
