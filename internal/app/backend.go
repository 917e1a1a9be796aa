package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/oklog/run"
	"go.uber.org/zap"

	"shedload/internal/api"
	"shedload/internal/boot"
	"shedload/internal/client/pace"
	"shedload/internal/metrics"
	"shedload/internal/service"
	"shedload/internal/worker"
)

var backend = program{
	name:  "backend",
	about: "fetches units from an apiserver and works on them",
	examples: `  backend
  SHEDLOAD_WORKERS=8 SHEDLOAD_SERVICE_TIME=exp:50ms backend
  SHEDLOAD_API_URL=http://apiserver:8081 SHEDLOAD_WORK=cpu backend
`,
	config: new(boot.Backend),
}

// RunBackend is the backend. It returns the exit code when ctx ends.
//
//	people ── admin ── faults ──> service.Model
//	                                  │ how long
//	apiserver <── leases, done ── worker.Worker
//	                                  │
//	            /metrics <── numbers ─┘
//
// Shutdown: no more work is taken, what runs is finished and reported, then the
// listener goes.
func RunBackend(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	if code, done := backend.words(args, stdout, stderr); done {
		return code
	}
	c, err := boot.Load[boot.Backend](backend.name, environ)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	if len(args) > 0 {
		return healthcheck(ctx, c.AdminAddr, stderr)
	}
	log := boot.Logger(stderr, c.LogLevel)
	boot.LogEffective(log, &c)

	w, err := newWorker(&c, log)
	if err != nil {
		fmt.Fprintln(stderr, backend.name+":", err)
		return exitUsage
	}
	registry := metrics.NewRegistry(backend.name, boot.Effective(&c))
	metrics.NewWorker(registry, func() metrics.WorkerReading { return readWorker(w) })
	admin := http.NewServeMux()
	admin.Handle("GET /metrics", metrics.Handler(registry))
	admin.Handle("/", w.Admin())

	servers, err := listen(log, boot.Endpoint{Name: "admin", Addr: c.AdminAddr, Handler: admin})
	if err == nil {
		err = announce(log, backend, c.Common, stdout, servers)
	}
	if err != nil {
		fmt.Fprintln(stderr, backend.name+":", err)
		return exitError
	}

	// They stop in this order.
	var g run.Group
	boot.AddStops(ctx, &g, c.Child, stdin)
	boot.AddTask(&g, w.Run)
	boot.AddServers(&g, listenerGrace, servers...)
	return ended(log, g.Run())
}

// newWorker returns the workers that c describes.
func newWorker(c *boot.Backend, log *zap.Logger) (*worker.Worker, error) {
	model := service.Config{Seed: c.Seed, ServiceTime: c.ServiceTime, Degrade: c.Degrade, Bulkheads: c.Bulkheads}
	for _, class := range c.Classes {
		model.Classes, model.Compartments = append(model.Classes, class.Name), append(model.Compartments, class.Compartment)
	}
	model.PerClass = make([]service.Spec, len(c.Classes))
	for _, t := range c.ClassTimes {
		model.PerClass[slices.Index(model.Classes, t.Class)] = t.Time
	}
	m, err := service.New(model)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = backend.name // the random part tells it from others all the same
	}
	kind := worker.Sleep
	if c.Work == boot.CPU {
		kind = worker.CPU
	}
	return worker.New(worker.Config{
		API: string(c.APIURL), Name: host + "-" + rand.Text()[:8], Workers: c.Workers, Model: m, Classes: model.Classes,
		Work: kind, Guard: api.Guard{Token: c.AdminToken, Open: c.AdminOpen}.Wrap, Log: log,
		Pace: func(dispatch func(worker.Sleeper)) error {
			return pace.With(func(s pace.Sleeper) { dispatch(s) })
		},
	})
}

func readWorker(w *worker.Worker) metrics.WorkerReading {
	n := w.Numbers()
	return metrics.WorkerReading{
		Workers: n.Workers, Available: n.Capacity, Busy: n.Busy, Finished: n.Finished, Late: n.Late, Stale: n.Stale,
		Work: n.WorkTime, Wasted: n.Wasted, Exchanges: n.Exchanges, FailedExchanges: n.Failures,
	}
}
