package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"shedload/internal/ledger"
)

// metric is a figure that a prediction is held to.
type metric struct {
	name  string
	value func(*ledger.Summary) float64
	// tolerance in per cent of the prediction; free: shown, not judged.
	tolerance float64
	free      bool
	// slack is a difference that is always allowed: what a share of a small number
	// would make a failure of.
	slack float64
}

func count(n int64) float64 { return float64(n) }

// metrics are compared in this order. The live engine's own lateness and the few
// hundred microseconds of a round trip show most in what gives up and in the
// latencies of a queue that is hardly there.
var metrics = []metric{
	{name: "requests", value: func(s *ledger.Summary) float64 { return count(s.Requests.Total) }, tolerance: 0.5, slack: 2},
	{name: "attempts", value: func(s *ledger.Summary) float64 { return count(s.Attempts.Total) }, tolerance: 10, slack: 20},
	{name: "amplification", value: func(s *ledger.Summary) float64 { return s.Amplification }, tolerance: 10, slack: 0.02},
	{name: "throughput", value: func(s *ledger.Summary) float64 { return count(s.Throughput) }, tolerance: 5, slack: 10},
	{name: "goodput", value: func(s *ledger.Summary) float64 { return count(s.Goodput) }, tolerance: 5, slack: 10},
	{name: "goodput_client", value: func(s *ledger.Summary) float64 { return count(s.GoodputClient) }, tolerance: 5, slack: 10},
	{name: "peak_queue", value: func(s *ledger.Summary) float64 { return count(s.Peak.Queue) }, tolerance: 10, slack: 5},
	{name: "peak_offered_per_s", value: func(s *ledger.Summary) float64 { return count(s.Peak.OfferedPerS) }, tolerance: 10, slack: 5},
	{name: "gave_up", value: func(s *ledger.Summary) float64 { return count(s.Requests.GaveUp) }, tolerance: 15, slack: 20},
	{name: "refused", value: func(s *ledger.Summary) float64 { return count(s.Attempts.RefusedTotal) }, tolerance: 15, slack: 20},
	{name: "dropped", value: func(s *ledger.Summary) float64 { return count(s.Attempts.DroppedTotal) }, tolerance: 15, slack: 20},
	{name: "late", value: func(s *ledger.Summary) float64 { return count(s.Attempts.Late) }, tolerance: 15, slack: 20},
	{name: "served_p50_ms", value: func(s *ledger.Summary) float64 { return s.LatencyMS.Served.P50 }, free: true},
	{name: "served_p99_ms", value: func(s *ledger.Summary) float64 { return s.LatencyMS.Served.P99 }, free: true},
	{name: "shed_wait_p50_ms", value: func(s *ledger.Summary) float64 { return s.LatencyMS.ShedWait.P50 }, free: true},
}

// Difference is one metric, predicted and measured.
type Difference struct {
	Metric    string  `json:"metric"`
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"`
	// Percent is how far the measurement lies above the prediction, in per cent of
	// it; 0 when both are 0, and 100 when only the prediction is.
	Percent float64 `json:"percent"`
	// Tolerance is how much of that is allowed; nil: it is not judged.
	Tolerance *float64 `json:"tolerance"`
	OK        bool     `json:"ok"`
}

// VerdictDifference is a verdict, predicted and measured.
type VerdictDifference struct {
	Metric    string `json:"metric"`
	Predicted string `json:"predicted"`
	Measured  string `json:"measured"`
	OK        bool   `json:"ok"`
}

// Drift is how far a measurement lies from its prediction.
type Drift struct {
	Variant  string              `json:"variant"`
	Figures  []Difference        `json:"figures"`
	Verdicts []VerdictDifference `json:"verdicts"`
}

// OK reports whether all that is judged lies within its tolerance.
func (d Drift) OK() bool {
	return !slices.ContainsFunc(d.Figures, func(f Difference) bool { return !f.OK }) &&
		!slices.ContainsFunc(d.Verdicts, func(v VerdictDifference) bool { return !v.OK })
}

// Tolerances are per cent by metric, laid over the default ones.
type Tolerances map[string]float64

// ParseTolerances reads "throughput=5,peak_queue=10": per cent by metric.
func ParseTolerances(text string) (Tolerances, error) {
	t := Tolerances{}
	if strings.TrimSpace(text) == "" {
		return t, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		percent, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		if !ok || err != nil || !(percent >= 0) || math.IsInf(percent, 0) {
			return nil, fmt.Errorf("tolerance %q: is written METRIC=PERCENT, such as throughput=5", part)
		}
		if !slices.ContainsFunc(metrics, func(m metric) bool { return m.name == name }) {
			return nil, fmt.Errorf("tolerance %q: unknown metric %q: allowed are %s", part, name, strings.Join(Metrics(), ", "))
		}
		t[name] = percent
	}
	return t, nil
}

// Metrics lists the names of the metrics.
func Metrics() []string {
	out := make([]string, len(metrics))
	for i, m := range metrics {
		out[i] = m.name
	}
	return out
}

// Compare holds a measured run to the predicted one. Without a server's view of
// the measurement only what clients saw is compared.
func Compare(predicted, measured ledger.Summary, t Tolerances) Drift {
	d := Drift{Variant: cmp.Or(measured.Variant, predicted.Variant)}
	clientOnly := measured.View == "client"
	for _, m := range metrics {
		if clientOnly && !slices.Contains([]string{"requests", "attempts", "amplification", "goodput_client", "gave_up"}, m.name) {
			continue
		}
		d.Figures = append(d.Figures, m.compare(&predicted, &measured, t))
	}
	for _, v := range []VerdictDifference{
		{Metric: "verdict", Predicted: predicted.Recovery.Verdict, Measured: measured.Recovery.Verdict},
		{Metric: "users_verdict", Predicted: predicted.Recovery.UsersVerdict, Measured: measured.Recovery.UsersVerdict},
	} {
		v.OK = v.Predicted == v.Measured
		d.Verdicts = append(d.Verdicts, v)
	}
	return d
}

func (m metric) compare(predicted, measured *ledger.Summary, t Tolerances) Difference {
	d := Difference{Metric: m.name, Predicted: m.value(predicted), Measured: m.value(measured), OK: true}
	off := d.Measured - d.Predicted
	switch {
	case d.Predicted != 0:
		d.Percent = 100 * off / d.Predicted
	case off != 0:
		d.Percent = 100
	}
	tolerance, given := t[m.name]
	if !given {
		tolerance = m.tolerance
	}
	if given || !m.free {
		d.Tolerance = &tolerance
		d.OK = math.Abs(off) <= m.slack || math.Abs(d.Percent) <= tolerance
	}
	return d
}
