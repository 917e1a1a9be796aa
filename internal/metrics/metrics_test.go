package metrics

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"shedload/internal/boot"
	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/work"
)

const second = work.Instant(time.Second)

// server returns a registry that shows l, and the events' observer.
func server(l *ledger.Ledger, classes ...string) (*prometheus.Registry, *ServerEvents) {
	r := prometheus.NewRegistry()
	e := NewServer(r, Bounds{Patience: time.Second, Margin: 70 * time.Millisecond}, func() ServerReading {
		row, _ := l.Row(0)
		g := l.Gauges()
		reading := ServerReading{
			Classes: classes, Second: row.ServerRow, State: "overloaded", Queue: int(g.Queued), InService: int(g.InService),
			Workers: 4, Capacity: 80, DoorLimit: 60, HardLimit: 1e6, Discipline: "fifo+deadline", Door: "queue_limit:60",
			Margin: 70 * time.Millisecond, OldestAge: 900 * time.Millisecond,
		}
		for i := range l.Classes() {
			reading.Totals = append(reading.Totals, l.ClassTotals(i).ServerTotals)
		}
		return reading
	})
	return r, e
}

// TestServerMetricsFromEvents plays a known stream of events and requires exact values.
func TestServerMetricsFromEvents(t *testing.T) {
	l := ledger.New(ledger.Config{Classes: []string{"pay", "search"}})
	r, observer := server(l, "pay", "search")
	unit := func(id uint64, attempt uint16, class uint8) work.Unit {
		return work.Unit{ID: id, Request: id, Enqueued: second / 10, Deadline: second, Attempt: attempt, Class: class}
	}
	at := second / 10
	for _, e := range []ledger.Event{
		{Kind: ledger.Arrived, At: at, Unit: unit(1, 1, 0)}, {Kind: ledger.Queued, At: at, Unit: unit(1, 1, 0)},
		{Kind: ledger.Arrived, At: at, Unit: unit(2, 2, 1)}, {Kind: ledger.Queued, At: at, Unit: unit(2, 2, 1)},
		{Kind: ledger.Arrived, At: at, Unit: unit(3, 1, 1)}, {Kind: ledger.Refused, At: at, Unit: unit(3, 1, 1), Reason: work.QueueFull},
		{Kind: ledger.Arrived, At: at, Unit: unit(4, 1, 1)}, {Kind: ledger.Queued, At: at, Unit: unit(4, 1, 1)},
		{Kind: ledger.Arrived, At: at, Unit: unit(5, 3, 1)}, {Kind: ledger.Queued, At: at, Unit: unit(5, 3, 1)},
		{Kind: ledger.Started, At: 2 * at, Unit: unit(1, 1, 0)},
		{Kind: ledger.Finished, At: 3 * at, Unit: unit(1, 1, 0), Took: 100 * time.Millisecond},
		{Kind: ledger.Started, At: 3 * at, Unit: unit(2, 2, 1)},
		{Kind: ledger.Dropped, At: 9 * at, Unit: unit(4, 1, 1), Reason: work.Doomed},
		{Kind: ledger.Finished, At: second + 1, Unit: unit(2, 2, 1), Took: 700 * time.Millisecond},
	} {
		l.Record(e)
		observer.Observe(e)
	}
	expect(t, r, map[string]float64{
		`server_attempts_total{attempt="first",class="pay"}`:                          1,
		`server_attempts_total{attempt="retry",class="pay"}`:                          0,
		`server_attempts_total{attempt="first",class="search"}`:                       2,
		`server_attempts_total{attempt="retry",class="search"}`:                       2,
		`server_outcomes_total{class="pay",outcome="on_time",reason=""}`:              1,
		`server_outcomes_total{class="search",outcome="late",reason=""}`:              1,
		`server_outcomes_total{class="search",outcome="refused",reason="queue_full"}`: 1,
		`server_outcomes_total{class="search",outcome="dropped",reason="doomed"}`:     1,
		`server_outcomes_total{class="search",outcome="dropped",reason="codel"}`:      0,
		`server_throughput_total{class="search"}`:                                     1,
		`server_goodput_total{class="search"}`:                                        0,
		`server_goodput_total{class="pay"}`:                                           1,
		`server_work_seconds_total{class="search"}`:                                   0.7,
		`server_wasted_work_seconds_total{class="search"}`:                            0.7,
		`server_wasted_work_seconds_total{class="pay"}`:                               0,
		`server_offered_per_second`:                                                   5,
		`server_first_per_second`:                                                     3,
		`server_throughput_per_second`:                                                1,
		`server_goodput_per_second`:                                                   1,
		`server_refused_per_second`:                                                   1,
		`server_dropped_per_second`:                                                   1,
		`queue_length`:                                                                1,
		`queue_oldest_age_seconds`:                                                    0.9,
		`in_service`:                                                                  0,
		`door_limit`:                                                                  60,
		`door_in_flight`:                                                              1,
		`drop_margin_seconds`:                                                         0.07,
		`capacity_per_second`:                                                         80,
		`discipline_info{discipline="fifo+deadline",door="queue_limit:60"}`:           1,
		`state{state="overloaded"}`:                                                   1,
		`state{state="healthy"}`:                                                      0,
		`queue_wait_seconds_count`:                                                    2,
		`queue_wait_seconds_sum`:                                                      0.3,
		`shed_wait_seconds_count{outcome="refused"}`:                                  1,
		`shed_wait_seconds_sum{outcome="dropped"}`:                                    0.8,
		`served_seconds_count`:                                                        2,
		`served_seconds_bucket{le="0.93"}`:                                            2, // patience - margin is a boundary
	})
}

func TestClientMetricsFromEvents(t *testing.T) {
	l := ledger.New(ledger.Config{})
	r := prometheus.NewRegistry()
	observer := NewClient(r, "fifo", Bounds{Patience: time.Second}, func() ClientReading {
		row, _ := l.Row(0)
		return ClientReading{
			Classes: []string{"all"}, Totals: []ledger.ClientTotals{l.ClassTotals(0).ClientTotals}, Second: row, State: "collapsed",
			InFlight: 1, Phases: []string{"spike"}, Phase: "spike", PhaseStart: time.Unix(1700000000, 5e8), Patience: time.Second,
			Groups: []GroupReading{
				{Name: "users", Gates: retry.Gauges{Budgets: 1, Balance: 2500, Breakers: 1, Breaker: retry.BreakerOpen}},
				{Name: "robots", Gates: retry.Gauges{Throttle: 0.25}},
			},
		}
	})
	unit := func(request uint64, attempt uint16) work.Unit { return work.Unit{Request: request, Attempt: attempt} }
	for _, e := range []ledger.Event{
		{Kind: ledger.Wished, Unit: unit(1, 0)}, {Kind: ledger.Sent, Unit: unit(1, 1), Took: 2 * time.Millisecond},
		{Kind: ledger.Wished, Unit: unit(2, 0)}, {Kind: ledger.Missed, Unit: unit(2, 1)},
		{Kind: ledger.Answered, At: second / 2, Unit: unit(1, 1), Outcome: work.TimedOut, Took: 500 * time.Millisecond},
		{Kind: ledger.Sent, At: second / 2, Unit: unit(1, 2), Took: 200 * time.Millisecond},
		{Kind: ledger.Answered, At: second * 3 / 4, Unit: unit(1, 2), Outcome: work.Succeeded, Took: 250 * time.Millisecond},
		{Kind: ledger.Ended, At: second * 3 / 4, Unit: unit(1, 2), End: ledger.EndSucceeded, Took: 750 * time.Millisecond},
	} {
		l.Record(e)
		observer.Observe(e)
	}
	expect(t, r, map[string]float64{
		`client_requests_total{class="all",run="fifo"}`:                       2,
		`client_requests_ended_total{class="all",end="succeeded",run="fifo"}`: 1,
		`client_requests_ended_total{class="all",end="throttled",run="fifo"}`: 0,
		`client_attempts_total{attempt="first",class="all",run="fifo"}`:       1,
		`client_attempts_total{attempt="retry",class="all",run="fifo"}`:       1,
		`client_outcomes_total{class="all",outcome="timed_out",run="fifo"}`:   1,
		`client_goodput_total{class="all",run="fifo"}`:                        1,
		`generator_late_total{class="all",run="fifo"}`:                        1,
		`generator_missed_total{class="all",run="fifo"}`:                      1,
		`client_requests_per_second{run="fifo"}`:                              2,
		`client_offered_per_second{run="fifo"}`:                               2,
		`client_goodput_per_second{run="fifo"}`:                               1,
		`client_timed_out_per_second{run="fifo"}`:                             1,
		`client_in_flight{run="fifo"}`:                                        1,
		`phase{phase="spike",run="fifo"}`:                                     1,
		`phase{phase="baseline",run="fifo"}`:                                  0,
		`phase_start_timestamp_seconds{run="fifo"}`:                           1700000000.5,
		`retry_budget_balance{client="users",run="fifo"}`:                     2.5,
		`throttle_reject_share{client="robots",run="fifo"}`:                   0.25,
		`breaker_state{client="users",run="fifo",state="open"}`:               1,
		`breaker_state{client="users",run="fifo",state="closed"}`:             0,
		`client_state{run="fifo",state="collapsed"}`:                          1,
		`client_latency_seconds_sum{run="fifo"}`:                              0.25,
		`client_request_seconds_sum{run="fifo"}`:                              0.75,
		`generator_lateness_seconds_count{run="fifo"}`:                        2,
		`client_attempt_number_bucket{run="fifo",le="1"}`:                     1,
		`client_attempt_number_bucket{run="fifo",le="2"}`:                     2,
	})
	for series := range exposed(t, r) {
		if strings.HasPrefix(series, "shedload_retry_budget_balance") && strings.Contains(series, "robots") {
			t.Errorf("%s: a group without a budget has no balance", series)
		}
	}
}

func TestWorkerMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	NewWorker(r, func() WorkerReading {
		return WorkerReading{Workers: 4, Available: 2, Busy: 1, Finished: 9, Late: 3, Stale: 1, Work: time.Second, Wasted: time.Second / 2, Exchanges: 8, FailedExchanges: 2}
	})
	expect(t, r, map[string]float64{
		"backend_workers": 4, "backend_workers_available": 2, "backend_workers_busy": 1, "backend_units_total": 9,
		"backend_late_units_total": 3, "backend_stale_units_total": 1, "backend_work_seconds_total": 1,
		"backend_wasted_work_seconds_total": 0.5, "backend_exchanges_total": 8, "backend_failed_exchanges_total": 2,
	})
}

// TestStrangersMakeNoSeries records units whose class nobody configured.
func TestStrangersMakeNoSeries(t *testing.T) {
	l := ledger.New(ledger.Config{Classes: []string{"pay", "search"}})
	r, observer := server(l, "pay", "search")
	before := len(exposed(t, r))
	for i := range 500 {
		u := work.Unit{ID: uint64(i), Request: uint64(i) << 40, Attempt: uint16(i), Class: uint8(i)}
		for _, e := range []ledger.Event{
			{Kind: ledger.Arrived, Unit: u}, {Kind: ledger.Refused, Unit: u, Reason: work.Reason(i % work.NumReasons)},
		} {
			l.Record(e)
			observer.Observe(e)
		}
	}
	if after := len(exposed(t, r)); after != before {
		t.Errorf("got %d series, want the %d from before", after, before)
	}
}

func TestRegistriesLintClean(t *testing.T) {
	l := ledger.New(ledger.Config{})
	s, _ := server(l, "all")
	c, w := prometheus.NewRegistry(), NewRegistry("backend", nil)
	NewClient(c, "live", Bounds{Patience: time.Second}, func() ClientReading { return ClientReading{} })
	NewWorker(w, func() WorkerReading { return WorkerReading{} })
	for _, r := range []*prometheus.Registry{s, c, w} {
		problems, err := testutil.GatherAndLint(r)
		if err != nil {
			t.Error(err)
		}
		for _, p := range problems {
			if strings.HasPrefix(p.Metric, "shedload_") {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
	}
}

func TestConfigInfoMasksSecrets(t *testing.T) {
	c := boot.APIServer{AdminToken: "hush"}
	recorder := httptest.NewRecorder()
	Handler(NewRegistry("apiserver", boot.Effective(&c))).ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	page := recorder.Body.String()
	if !strings.Contains(page, `admin_token="(secret)"`) || strings.Contains(page, "hush") {
		t.Errorf("want the token masked in %s", page)
	}
	if !strings.Contains(page, "shedload_build_info{") || !strings.Contains(page, "go_goroutines") {
		t.Error("want the build and the runtime")
	}
}

func TestCatalogueIsComplete(t *testing.T) {
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range all {
		names = append(names, strings.TrimPrefix(m.Name, "shedload_"))
		if m.Help == "" {
			t.Errorf("%s has no help", m.Name)
		}
	}
	want := []string{"build_info", "config_info", "queue_wait_seconds", "shed_wait_seconds", "served_seconds", "client_attempt_number"}
	for _, f := range serverFamilies {
		want = append(want, f.name)
	}
	for _, f := range clientFamilies {
		want = append(want, f.name)
	}
	for _, f := range workerFamilies {
		want = append(want, f.name)
	}
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in the catalogue", name)
		}
	}
	i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == "shedload_server_outcomes_total" })
	if got := fmt.Sprint(all[i].Labels); got != "[class outcome reason]" {
		t.Errorf("got labels %s", got)
	}
}

// expect compares series, named without the prefix, with exact values.
func expect(t *testing.T, r *prometheus.Registry, want map[string]float64) {
	t.Helper()
	got := exposed(t, r)
	for series, value := range want {
		have, ok := got["shedload_"+series]
		if !ok || have < value-1e-9 || have > value+1e-9 {
			t.Errorf("%s: got %v (there: %v), want %v", series, have, ok, value)
		}
	}
}

// exposed parses the page that Prometheus scrapes.
func exposed(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	recorder := httptest.NewRecorder()
	Handler(r).ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	series := map[string]float64{}
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "#") || !strings.HasPrefix(line, "shedload_") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		var value float64
		if _, err := fmt.Sscan(line[at:], &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		series[line[:at]] = value
	}
	return series
}
