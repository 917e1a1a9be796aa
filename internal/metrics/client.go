package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// ClientReading is a load generator at one instant, taken under its lock.
type ClientReading struct {
	Classes []string              // names by index; at least one
	Totals  []ledger.ClientTotals // by class
	Second  ledger.Row            // the last full second
	State   string                // one of States

	InFlight   int           // attempts that wait for their answer
	Phases     []string      // names of all phases, for the label
	Phase      string        // the one that is now; "" is the baseline
	PhaseStart time.Time     // when the last one began; zero before the first
	Patience   time.Duration // the longest
	Groups     []GroupReading
}

// GroupReading is one group of clients and what its gates show.
type GroupReading struct {
	Name  string
	Gates retry.Gauges
}

// Baseline is the phase label when no phase changes the load.
const Baseline = "baseline"

// ClientEvents are the histograms of a load generator. Observe is safe for
// concurrent use and does not block.
type ClientEvents struct {
	lateness, latency, request, tries prometheus.Observer
}

// NewClient registers a load generator's metrics under the value of the run label,
// which tells lanes side by side apart. read is called once a scrape and must be
// safe for concurrent use.
func NewClient(r prometheus.Registerer, run string, b Bounds, read func() ClientReading) *ClientEvents {
	labels := prometheus.Labels{"run": run}
	add := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(histogram(name, help, buckets, labels))
		r.MustRegister(h)
		return h
	}
	r.MustRegister(newCollector(clientFamilies, labels, read))
	return &ClientEvents{
		latency:  add("client_latency_seconds", "Time from an attempt's intended start to its good answer.", b.buckets()),
		request:  add("client_request_seconds", "Time from a request's intended start to its success: what a user waits.", b.buckets()),
		lateness: add("generator_lateness_seconds", "How late attempts left: actual minus intended time.", []float64{1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 1}),
		tries:    add("client_attempt_number", "Attempts by their number: first tries in the first bucket, retries in the others.", []float64{1, 2, 3, 5, 10, 20, 50}),
	}
}

// Observe takes in one event of the client's view.
func (c *ClientEvents) Observe(e ledger.Event) {
	switch e.Kind {
	case ledger.Sent:
		c.lateness.Observe(seconds(e.Took))
		c.tries.Observe(float64(e.Unit.Attempt))
	case ledger.Answered:
		if e.Outcome == work.Succeeded {
			c.latency.Observe(seconds(e.Took))
		}
	case ledger.Ended:
		if e.End == ledger.EndSucceeded {
			c.request.Observe(seconds(e.Took))
		}
	}
}

var clientFamilies = []family[ClientReading]{
	{"client_requests_total", "New requests, by class.", prometheus.CounterValue, class,
		clientClass(func(t *ledger.ClientTotals) float64 { return float64(t.Requests) })},
	{"client_requests_ended_total", "How requests ended, by class.", prometheus.CounterValue, []string{"class", "end"}, clientEnds},
	{"client_attempts_total", "Attempts that left, by class and by first tries and retries.", prometheus.CounterValue, []string{"class", "attempt"}, clientAttempts},
	{"client_outcomes_total", "How attempts ended for their clients, by class.", prometheus.CounterValue, []string{"class", "outcome"}, clientOutcomes},
	{"client_goodput_total", "Answers received before patience ran out: client goodput.", prometheus.CounterValue, class,
		clientClass(func(t *ledger.ClientTotals) float64 { return float64(t.Answered[work.Succeeded]) })},
	{"client_resumes_total", "Retries that joined a pending operation.", prometheus.CounterValue, class,
		clientClass(func(t *ledger.ClientTotals) float64 { return float64(t.Resumed) })},
	{"generator_late_total", "Attempts that left more than 100 ms after their intended time.", prometheus.CounterValue, class,
		clientClass(func(t *ledger.ClientTotals) float64 { return float64(t.LateSends) })},
	{"generator_missed_total", "Attempts that never left.", prometheus.CounterValue, class,
		clientClass(func(t *ledger.ClientTotals) float64 { return float64(t.Missed) })},

	gauge("client_requests_per_second", "New requests in the last full second.", func(r *ClientReading) float64 { return float64(r.Second.Requests) }),
	gauge("client_offered_per_second", "Attempts that left in the last full second.", func(r *ClientReading) float64 { return float64(r.Second.Sent) }),
	gauge("client_goodput_per_second", "Good answers in the last full second.", func(r *ClientReading) float64 { return float64(r.Second.GoodputClient) }),
	gauge("client_timed_out_per_second", "Attempts given up in the last full second.", func(r *ClientReading) float64 { return float64(r.Second.TimedOut) }),
	gauge("client_in_flight", "Attempts that wait for their answer.", func(r *ClientReading) float64 { return float64(r.InFlight) }),
	gauge("client_patience_seconds", "How long a client waits for one attempt; the longest of all groups.", func(r *ClientReading) float64 { return seconds(r.Patience) }),
	gauge("phase_start_timestamp_seconds", "When the last phase of load began; 0 before the first.", func(r *ClientReading) float64 { return timestamp(r.PhaseStart) }),

	{"retry_budget_balance", "Retries that a group's poorest budget would grant now; absent without a budget.", prometheus.GaugeValue, []string{"client"}, budgetBalances},
	{"throttle_reject_share", "Share of tries that a group's adaptive throttle rejects now; 0 without one.", prometheus.GaugeValue, []string{"client"},
		func(r *ClientReading, put func(float64, ...string)) {
			for _, g := range r.Groups {
				put(g.Gates.Throttle, g.Name)
			}
		}},
	{"breaker_state", "State of a group's circuit breaker: 1 for the one that holds; absent without a breaker.", prometheus.GaugeValue, []string{"client", "state"}, breakerStates},
	{"phase", "What the load is doing: 1 for the phase that is now.", prometheus.GaugeValue, []string{"phase"}, phases},
	{"client_state", "What the last ten seconds look like to the clients: 1 for the state that holds.", prometheus.GaugeValue, []string{"state"},
		func(r *ClientReading, put func(float64, ...string)) { oneOf(States, r.State, put) }},
}

// clientClass makes the values of a family that has one value a class.
func clientClass(value func(t *ledger.ClientTotals) float64) func(*ClientReading, func(float64, ...string)) {
	return func(r *ClientReading, put func(float64, ...string)) {
		for i := range r.Totals {
			put(value(&r.Totals[i]), r.Classes[i])
		}
	}
}

func clientEnds(r *ClientReading, put func(float64, ...string)) {
	for i := range r.Totals {
		for end := ledger.EndSucceeded; end < ledger.EndUnfinished; end++ {
			put(float64(r.Totals[i].Ended[end]), r.Classes[i], end.String())
		}
	}
}

func clientAttempts(r *ClientReading, put func(float64, ...string)) {
	for i := range r.Totals {
		t := &r.Totals[i]
		put(float64(t.SentFirst), r.Classes[i], "first")
		put(float64(t.Sent-t.SentFirst), r.Classes[i], "retry")
	}
}

func clientOutcomes(r *ClientReading, put func(float64, ...string)) {
	for i := range r.Totals {
		for o := work.Succeeded; o < work.NumOutcomes; o++ {
			put(float64(r.Totals[i].Answered[o]), r.Classes[i], o.String())
		}
	}
}

func budgetBalances(r *ClientReading, put func(float64, ...string)) {
	for _, g := range r.Groups {
		if g.Gates.Budgets > 0 {
			put(float64(g.Gates.Balance)/1000, g.Name)
		}
	}
}

func breakerStates(r *ClientReading, put func(float64, ...string)) {
	for _, g := range r.Groups {
		for s := retry.BreakerClosed; g.Gates.Breakers > 0 && s <= retry.BreakerOpen; s++ {
			put(truth(s == g.Gates.Breaker), g.Name, s.String())
		}
	}
}

func phases(r *ClientReading, put func(float64, ...string)) {
	put(truth(r.Phase == ""), Baseline)
	for _, name := range r.Phases {
		put(truth(name == r.Phase), name)
	}
}
