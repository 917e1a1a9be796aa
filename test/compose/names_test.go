package compose

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shedload/internal/metrics"
	"shedload/test/need"
)

// targetLabels are those that Prometheus adds when it scrapes, see prometheus.yml.
var targetLabels = []string{"run", "job", "instance"}

var (
	selector = regexp.MustCompile(`((?:run:)?\bshedload_[a-z0-9_:]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(?:by|on|group_left)\s*\(([^)]*)\)`)
	template = regexp.MustCompile(`\{\{\s*([a-z_]+)\s*\}\}`)
)

// TestNamesExist holds every metric and label of dashboards and rules against what the programs expose.
func TestNamesExist(t *testing.T) {
	known := vocabulary(t)
	for _, q := range queries(t) {
		for _, problem := range known.problems(q) {
			t.Errorf("%s: %s\n  in %s", q.where, problem, q.expr)
		}
	}
}

// names are the labels of each series, by its name.
type names map[string][]string

func vocabulary(t *testing.T) names {
	t.Helper()
	catalogue, err := metrics.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	known := names{}
	for _, m := range catalogue {
		labels := append(slices.Clone(m.Labels), targetLabels...)
		if !m.Histogram {
			known[m.Name] = labels
			continue
		}
		known[m.Name+"_bucket"] = append(slices.Clone(labels), "le")
		known[m.Name+"_sum"], known[m.Name+"_count"] = labels, labels
	}
	for _, q := range ruleQueries(t) {
		if q.record != "" {
			known[q.record] = []string{"run"} // the rules sum by it
		}
	}
	return known
}

func (known names) problems(q query) (found []string) {
	var labels []string
	if strings.Contains(q.expr, "ALERTS") {
		labels = append(labels, "alertname", "alertstate", "run")
	}
	if strings.HasPrefix(q.expr, "up ") {
		labels = append(labels, targetLabels...)
	}
	for _, use := range selector.FindAllStringSubmatch(q.expr, -1) {
		has, ok := known[use[1]]
		if !ok {
			found = append(found, "no program exposes, and no rule records, "+use[1])
			continue
		}
		labels = append(labels, has...)
		for _, m := range matcher.FindAllStringSubmatch(use[2], -1) {
			if !slices.Contains(has, m[1]) {
				found = append(found, use[1]+" has no label "+m[1])
			}
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(q.expr, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(labels, label) {
				found = append(found, "groups by "+label+", which nothing in it has")
			}
		}
	}
	for _, l := range template.FindAllStringSubmatch(q.legend, -1) {
		if !slices.Contains(labels, l[1]) {
			found = append(found, "names "+l[1]+", which nothing in it has")
		}
	}
	if len(labels) == 0 {
		found = append(found, "asks for nothing of ours")
	}
	return found
}

// TestWrongNamesAreSeen proves that the check above can fail.
func TestWrongNamesAreSeen(t *testing.T) {
	known := vocabulary(t)
	for expr, want := range map[string]string{
		`sum(shedload_queue_lenght)`:                                             "no program exposes",
		`run:shedload_goodput:rate7s`:                                            "no rule records",
		`shedload_served_seconds`:                                                "no program exposes",
		`sum(rate(shedload_server_outcomes_total{outcom="late"}[5s]))`:           "has no label outcom",
		`sum by (reasons) (rate(shedload_server_outcomes_total{class="a"}[5s]))`: "groups by reasons",
		`vector(1)`: "asks for nothing",
	} {
		if found := known.problems(query{expr: expr}); !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%s: got %q, want %q", expr, found, want)
		}
	}
	if found := known.problems(query{expr: "shedload_queue_length", legend: "{{reason}}"}); len(found) != 1 {
		t.Errorf("a legend of no label: got %q", found)
	}
}

// TestRules lets Prometheus' own tool check the configuration, and play the courses that the
// alerts must tell apart.
func TestRules(t *testing.T) {
	promtool := need.Program(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", root + "/deploy/prometheus/prometheus.yml"},
		append([]string{"test", "rules"}, glob(t, root+"/deploy/prometheus/tests/*.yml")...),
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
