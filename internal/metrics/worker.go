package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// WorkerReading is a backend at one instant, taken under its lock.
type WorkerReading struct {
	Workers, Available, Busy   int // configured; that may work now, by the faults in force; that do
	Finished, Late, Stale      int64
	Work, Wasted               time.Duration
	Exchanges, FailedExchanges int64
}

// NewWorker registers a backend's metrics. read is called once a scrape and must
// be safe for concurrent use.
func NewWorker(r prometheus.Registerer, read func() WorkerReading) {
	r.MustRegister(newCollector(workerFamilies, nil, read))
}

var workerFamilies = []family[WorkerReading]{
	counter("backend_units_total", "Units worked on to the end.", func(r *WorkerReading) float64 { return float64(r.Finished) }),
	counter("backend_late_units_total", "Units finished after the deadline that came with them.", func(r *WorkerReading) float64 { return float64(r.Late) }),
	counter("backend_stale_units_total", "Units that the server had given up for lost before they were reported.", func(r *WorkerReading) float64 { return float64(r.Stale) }),
	counter("backend_work_seconds_total", "Time that workers have worked.", func(r *WorkerReading) float64 { return seconds(r.Work) }),
	counter("backend_wasted_work_seconds_total", "Time worked on late or stale units.", func(r *WorkerReading) float64 { return seconds(r.Wasted) }),
	counter("backend_exchanges_total", "Requests to the API server that were answered.", func(r *WorkerReading) float64 { return float64(r.Exchanges) }),
	counter("backend_failed_exchanges_total", "Requests to the API server that were not answered.", func(r *WorkerReading) float64 { return float64(r.FailedExchanges) }),
	gauge("backend_workers", "Workers configured.", func(r *WorkerReading) float64 { return float64(r.Workers) }),
	gauge("backend_workers_available", "Workers that the faults in force let work.", func(r *WorkerReading) float64 { return float64(r.Available) }),
	gauge("backend_workers_busy", "Workers that work now.", func(r *WorkerReading) float64 { return float64(r.Busy) }),
}
