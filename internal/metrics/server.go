package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

// ServerReading is the API server at one instant, taken under its lock.
type ServerReading struct {
	Classes []string              // names by index; at least one
	Totals  []ledger.ServerTotals // by class
	Second  ledger.ServerRow      // the last full second
	State   string                // one of States

	Queue, InService, Waiting, Workers int
	OldestAge                          time.Duration
	Capacity                           float64 // units a second that the workers can finish; 0 unknown
	DoorLimit                          int     // of an adaptive or fixed limit; 0 none
	HardLimit                          int
	Discipline, Door                   string
	Margin                             time.Duration // in force; 0 none
	Changed                            time.Time     // last change of the policy
	Operations                         int           // kept in the store
}

// States are the values of the state label.
var States = []string{ledger.Healthy, ledger.Overloaded, ledger.Down, ledger.Recovering}

// ServerEvents are the histograms of an API server. Observe is safe for
// concurrent use and does not block.
type ServerEvents struct {
	queueWait          prometheus.Observer
	refusedIn, shedOut prometheus.Observer
	served             prometheus.Observer
}

// NewServer registers the API server's metrics. read is called once a scrape and
// must be safe for concurrent use.
func NewServer(r prometheus.Registerer, b Bounds, read func() ServerReading) *ServerEvents {
	queueWait := prometheus.NewHistogram(histogram("queue_wait_seconds", "Time from arrival to the hand-over to a worker.", b.buckets(), nil))
	shedWait := prometheus.NewHistogramVec(histogram("shed_wait_seconds", "Time from arrival to the refusal or drop: the time to no.", b.buckets(), nil), []string{"outcome"})
	served := prometheus.NewHistogram(histogram("served_seconds", "Time from arrival to the finish, on time or late.", b.buckets(), nil))
	r.MustRegister(queueWait, shedWait, served, newCollector(serverFamilies, nil, read))
	return &ServerEvents{
		queueWait: queueWait, served: served,
		refusedIn: shedWait.WithLabelValues("refused"), shedOut: shedWait.WithLabelValues("dropped"),
	}
}

// Observe takes in one event of the server's view.
func (s *ServerEvents) Observe(e ledger.Event) {
	waited := seconds(e.At.Sub(e.Unit.Enqueued))
	switch e.Kind {
	case ledger.Started:
		s.queueWait.Observe(waited)
	case ledger.Refused:
		s.refusedIn.Observe(waited)
	case ledger.Dropped:
		s.shedOut.Observe(waited)
	case ledger.Finished:
		s.served.Observe(waited)
	}
}

// perClass makes the values of a family that has one value a class.
func perClass(value func(t *ledger.ServerTotals) float64) func(*ServerReading, func(float64, ...string)) {
	return func(r *ServerReading, put func(float64, ...string)) {
		for i := range r.Totals {
			put(value(&r.Totals[i]), r.Classes[i])
		}
	}
}

var class = []string{"class"}

var serverFamilies = []family[ServerReading]{
	{"server_attempts_total", "Attempts that reached the server, by class and by first tries and retries.", prometheus.CounterValue, []string{"class", "attempt"}, serverAttempts},
	{"server_outcomes_total", "Where attempts ended on the server, by class, outcome, and reason of refusals and drops.", prometheus.CounterValue, []string{"class", "outcome", "reason"}, serverOutcomes},
	{"server_throughput_total", "Units finished, wanted or not.", prometheus.CounterValue, class,
		perClass(func(t *ledger.ServerTotals) float64 { return float64(t.Finished()) })},
	{"server_goodput_total", "Units finished at or before their deadline: server goodput.", prometheus.CounterValue, class,
		perClass(func(t *ledger.ServerTotals) float64 { return float64(t.OnTime) })},
	{"server_work_seconds_total", "Time that workers have worked.", prometheus.CounterValue, class,
		perClass(func(t *ledger.ServerTotals) float64 { return seconds(t.Work) })},
	{"server_wasted_work_seconds_total", "Time worked on units that were late, failed, or given up: for nothing.", prometheus.CounterValue, class,
		perClass(func(t *ledger.ServerTotals) float64 { return seconds(t.Wasted) })},
	{"server_stale_reports_total", "Reports of workers that came after their unit was lost.", prometheus.CounterValue, class,
		perClass(func(t *ledger.ServerTotals) float64 { return float64(t.Stale) })},

	gauge("server_offered_per_second", "Attempts that arrived in the last full second.", func(r *ServerReading) float64 { return float64(r.Second.Arrived) }),
	gauge("server_first_per_second", "First tries that arrived in the last full second: the load without retries.", func(r *ServerReading) float64 { return float64(r.Second.First) }),
	gauge("server_throughput_per_second", "Units finished in the last full second.", func(r *ServerReading) float64 { return float64(r.Second.Throughput) }),
	gauge("server_goodput_per_second", "Units finished on time in the last full second.", func(r *ServerReading) float64 { return float64(r.Second.Goodput) }),
	gauge("server_refused_per_second", "Attempts refused at the door in the last full second.", func(r *ServerReading) float64 { return float64(r.Second.Refused) }),
	gauge("server_dropped_per_second", "Units dropped from the queue in the last full second.", func(r *ServerReading) float64 { return float64(r.Second.Dropped) }),

	gauge("queue_length", "Units on the queue.", func(r *ServerReading) float64 { return float64(r.Queue) }),
	gauge("queue_oldest_age_seconds", "Age of the oldest unit on the queue.", func(r *ServerReading) float64 { return seconds(r.OldestAge) }),
	gauge("queue_hard_limit", "Units queued at most: the memory guard.", func(r *ServerReading) float64 { return float64(r.HardLimit) }),
	gauge("in_service", "Units that workers have.", func(r *ServerReading) float64 { return float64(r.InService) }),
	gauge("workers", "Workers that fetch from this server.", func(r *ServerReading) float64 { return float64(r.Workers) }),
	gauge("capacity_per_second", "Units a second that the workers can finish, by the service times of late.", func(r *ServerReading) float64 { return r.Capacity }),
	gauge("door_waiting", "Attempts that wait at the door.", func(r *ServerReading) float64 { return float64(r.Waiting) }),
	gauge("door_limit", "The limit that the door enforces; 0 when it has none.", func(r *ServerReading) float64 { return float64(r.DoorLimit) }),
	gauge("door_in_flight", "What the limit is compared with: units queued and in service.", func(r *ServerReading) float64 { return float64(r.Queue + r.InService) }),
	gauge("drop_margin_seconds", "How long before its deadline a unit counts as doomed.", func(r *ServerReading) float64 { return seconds(r.Margin) }),
	gauge("operations", "Operations in the store, finished ones included.", func(r *ServerReading) float64 { return float64(r.Operations) }),
	gauge("policy_changed_timestamp_seconds", "When the policy was last changed.", func(r *ServerReading) float64 { return timestamp(r.Changed) }),
	{"discipline_info", "The queue discipline and the door in force; always 1.", prometheus.GaugeValue, []string{"discipline", "door"},
		func(r *ServerReading, put func(float64, ...string)) { put(1, r.Discipline, r.Door) }},
	{"state", "What the last ten seconds look like: 1 for the state that holds.", prometheus.GaugeValue, []string{"state"},
		func(r *ServerReading, put func(float64, ...string)) { oneOf(States, r.State, put) }},
}

func serverAttempts(r *ServerReading, put func(float64, ...string)) {
	for i := range r.Totals {
		t := &r.Totals[i]
		put(float64(t.First), r.Classes[i], "first")
		put(float64(t.Arrived-t.Carried-t.First), r.Classes[i], "retry")
	}
}

// serverOutcomes has a series for every reason from the start, so that a rate
// over its first increase is right.
func serverOutcomes(r *ServerReading, put func(float64, ...string)) {
	for i := range r.Totals {
		t, name := &r.Totals[i], r.Classes[i]
		put(float64(t.OnTime), name, "on_time", "")
		put(float64(t.Late), name, "late", "")
		put(float64(t.Failed), name, "failed", "")
		put(float64(t.Canceled), name, "canceled", "")
		put(float64(t.Lost), name, "lost", "")
		for reason := work.Reason(0); reason < work.NumReasons; reason++ {
			switch {
			case reason.Refusal():
				put(float64(t.Refused[reason]), name, "refused", reason.String())
			case reason.Drop():
				put(float64(t.Dropped[reason]), name, "dropped", reason.String())
			}
		}
	}
}

// oneOf puts 1 for the name that holds and 0 for the others.
func oneOf(names []string, holds string, put func(float64, ...string)) {
	for _, name := range names {
		put(truth(name == holds), name)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// timestamp is t in Unix seconds; 0 for the zero time.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
