// Package metrics is the one place that knows the names of shedload's metrics.
//
// Numbers are kept once, by the ledger and by the code that decides. Counters and
// gauges only read them when they are scraped; only histograms observe events.
// Labels come from closed sets: configured names, and the vocabulary of packages
// work and ledger. Nothing that a client sends becomes a label.
package metrics

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"shedload/internal/boot"
)

// Registry holds the metrics of one program.
type Registry = prometheus.Registry

// NewRegistry returns a registry with what every program exposes: its build, its
// configuration in force (secrets masked), and the Go runtime's metrics.
func NewRegistry(program string, settings []boot.Setting) *Registry {
	r := prometheus.NewRegistry()
	b := boot.BuildInfo()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		constant("build_info", "Which code runs; always 1.", prometheus.Labels{
			"program": program, "version": b.Version, "revision": b.Revision, "goversion": b.Go,
		}),
		constant("config_info", "The configuration in force, a label a variable; always 1.", configLabels(settings)),
	)
	return r
}

// configLabels turns variables into label names: SHEDLOAD_DROP_MARGIN to drop_margin.
func configLabels(settings []boot.Setting) prometheus.Labels {
	labels := prometheus.Labels{}
	for _, s := range settings {
		labels[strings.ToLower(strings.TrimPrefix(s.Name, boot.Prefix))] = strings.ToValidUTF8(s.Value, "?")
	}
	return labels
}

func constant(name, help string, labels prometheus.Labels) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels},
		func() float64 { return 1 })
}

// Handler serves the registry to a few scrapers at a time.
func Handler(r *Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 8, Registry: r})
}

const namespace = "shedload"

// family is one metric: its name without the prefix, and how its values are
// found in a reading R. Its help is what dashboards show to people.
type family[R any] struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	values     func(r *R, put func(value float64, labels ...string))
}

// counter and gauge are families of one value without labels.
func counter[R any](name, help string, value func(r *R) float64) family[R] {
	return family[R]{name: name, help: help, kind: prometheus.CounterValue, values: func(r *R, put func(float64, ...string)) { put(value(r)) }}
}

func gauge[R any](name, help string, value func(r *R) float64) family[R] {
	return family[R]{name: name, help: help, kind: prometheus.GaugeValue, values: func(r *R, put func(float64, ...string)) { put(value(r)) }}
}

// collector takes one consistent reading a scrape and derives every family from it.
type collector[R any] struct {
	families []family[R]
	descs    []*prometheus.Desc
	read     func() R
}

func newCollector[R any](families []family[R], labels prometheus.Labels, read func() R) *collector[R] {
	c := &collector[R]{families: families, read: read}
	for _, f := range families {
		c.descs = append(c.descs, prometheus.NewDesc(namespace+"_"+f.name, f.help, f.labels, labels))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector[R]) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector[R]) Collect(ch chan<- prometheus.Metric) {
	reading := c.read()
	for i, f := range c.families {
		f.values(&reading, func(value float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(c.descs[i], f.kind, value, labels...)
		})
	}
}

// Bounds are the instants in an attempt's life that a histogram must be able to
// tell apart: what waits longer than Patience is dead, and what waits longer than
// Patience - Margin is doomed.
type Bounds struct{ Patience, Margin time.Duration }

// buckets are the classic boundaries in seconds, with those of b among them.
func (b Bounds) buckets() []float64 {
	at := map[float64]bool{}
	for _, s := range []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60} {
		at[s] = true
	}
	if b.Patience > 0 {
		at[b.Patience.Seconds()] = true
	}
	if doomed := b.Patience - b.Margin; doomed > 0 {
		at[doomed.Seconds()] = true
	}
	return slices.Sorted(maps.Keys(at))
}

// histogram has classic buckets, and native ones for a Prometheus that asks for them.
func histogram(name, help string, buckets []float64, labels prometheus.Labels) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets, ConstLabels: labels,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}
}

func seconds(d time.Duration) float64 { return d.Seconds() }
