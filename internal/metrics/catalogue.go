package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"shedload/internal/boot"
	"shedload/internal/ledger"
	"shedload/internal/retry"
)

// Metric is one metric by its exposed name, without the suffixes of histograms.
type Metric struct {
	Name, Help string
	Labels     []string // names, sorted; the le of histograms not among them
	Histogram  bool
}

// Catalogue lists all metrics of the three programs that begin with our prefix,
// so that dashboards, rules and documents can be checked against them.
func Catalogue() ([]Metric, error) {
	seen := map[string]*Metric{}
	for _, program := range boot.Programs() {
		r := NewRegistry(program.Name, nil)
		switch program.Name {
		case "apiserver":
			e := NewServer(r, Bounds{}, func() ServerReading {
				return ServerReading{Classes: []string{"all"}, Totals: make([]ledger.ServerTotals, 1)}
			})
			e.Observe(ledger.Event{Kind: ledger.Started})
		case "backend":
			NewWorker(r, func() WorkerReading { return WorkerReading{} })
		default:
			NewClient(r, "live", Bounds{}, func() ClientReading {
				return ClientReading{
					Classes: []string{"all"}, Totals: make([]ledger.ClientTotals, 1),
					Groups: []GroupReading{{Name: "users", Gates: retry.Gauges{Budgets: 1, Breakers: 1}}},
				}
			})
		}
		if err := gather(r, seen); err != nil {
			return nil, err
		}
	}
	var all []Metric
	for _, m := range seen {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func gather(r *prometheus.Registry, seen map[string]*Metric) error {
	families, err := r.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), namespace+"_") {
			continue
		}
		m := &Metric{Name: f.GetName(), Help: f.GetHelp(), Histogram: f.Metric[0].Histogram != nil}
		for _, l := range f.Metric[0].Label {
			m.Labels = append(m.Labels, l.GetName())
		}
		slices.Sort(m.Labels)
		seen[m.Name] = m
	}
	return nil
}
