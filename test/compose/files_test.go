package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const (
	root       = "../.."
	dashboards = root + "/deploy/grafana/dashboards"
	rules      = root + "/deploy/prometheus/rules"
)

// query is an expression in a file of the stack.
type query struct {
	where  string // the file and what it is for
	expr   string
	legend string // text with {{label}} in it
	alert  bool
	record string // the name it gives its result
}

// queries returns every expression of the dashboards and rules.
func queries(t *testing.T) []query {
	t.Helper()
	all := append(dashboardQueries(t), ruleQueries(t)...)
	if len(all) < 60 {
		t.Fatalf("found only %d expressions", len(all))
	}
	return all
}

func dashboardQueries(t *testing.T) (all []query) {
	for _, file := range glob(t, dashboards+"/*.json") {
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
			Annotations struct {
				List []struct{ Name, Expr, TitleFormat string }
			}
			Templating struct {
				List []struct{ Query string }
			}
		}
		if err := json.Unmarshal(read(t, file), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := filepath.Base(file)
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				all = append(all, query{where: name + ": " + p.Title, expr: target.Expr, legend: target.LegendFormat})
			}
		}
		for _, a := range d.Annotations.List {
			if a.Expr != "" {
				all = append(all, query{where: name + ": annotation " + a.Name, expr: a.Expr, legend: a.TitleFormat})
			}
		}
		for _, v := range d.Templating.List {
			metric, label, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Query, "label_values("), ")"), ", ")
			all = append(all, query{where: name + ": variable", expr: "count by (" + label + ") (" + metric + ")"})
		}
	}
	return all
}

func ruleQueries(t *testing.T) (all []query) {
	for _, file := range glob(t, rules+"/*.yml") {
		var f struct {
			Groups []struct {
				Name     string
				Interval string
				Rules    []struct {
					Record, Alert, Expr, For string
					Labels, Annotations      map[string]string
				}
			}
		}
		if err := yaml.UnmarshalWithOptions(read(t, file), &f, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				legend := ""
				for name := range strings.SplitSeq(r.Annotations["summary"], "$labels.") {
					label, _, found := strings.Cut(name, " }}")
					if found && !strings.Contains(label, " ") {
						legend += "{{" + label + "}}"
					}
				}
				all = append(all, query{
					where: filepath.Base(file) + ": " + r.Record + r.Alert, expr: r.Expr, legend: legend,
					alert: r.Alert != "", record: r.Record,
				})
			}
		}
	}
	return all
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s (%v)", pattern, err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
