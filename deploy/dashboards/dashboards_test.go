package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const committed = "../grafana/dashboards"

func TestCommittedDashboardsAreTheCode(t *testing.T) {
	boards := all()
	for name, b := range boards {
		want, err := render(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code says: run `go run . %s` in deploy/dashboards", name, committed)
		}
	}
	files, err := filepath.Glob(committed + "/*")
	if err != nil || len(files) != len(boards) {
		t.Errorf("got %v (%v), want the %d generated ones alone", files, err, len(boards))
	}
}

// TestDashboardsAreValid checks the committed JSON against the typed model and
// against what Grafana is known to trip over.
func TestDashboardsAreValid(t *testing.T) {
	uids := map[string]bool{}
	for name := range all() {
		text, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems(text, uids) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// problems lists what is wrong with a dashboard's JSON. uids are those seen so far.
func problems(text []byte, uids map[string]bool) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	var strict, d dashboard.Dashboard
	// The strict reader finds unknown fields. Its error is a list that is not nil when it is
	// empty, which also keeps it from keeping the panels.
	if err := strict.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		say("%v", err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		say("%v", err)
		return found
	}
	if d.Uid == nil || *d.Uid == "" || uids[*d.Uid] {
		say("no uid of its own")
	} else {
		uids[*d.Uid] = true
	}
	if d.Refresh == nil || *d.Refresh != "1s" {
		say("not refreshed each second")
	}
	for _, a := range d.Annotations.List {
		if a.Expr != nil && a.Step == nil {
			say("annotation %q has no step: Grafana takes 60 s", a.Name)
		}
	}
	places := map[string]bool{}
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue
		}
		for _, problem := range panelProblems(p.Panel) {
			say("panel %q: %s", *p.Panel.Title, problem)
		}
		for x := range p.Panel.GridPos.W {
			for y := range p.Panel.GridPos.H {
				cell := fmt.Sprint(p.Panel.GridPos.X+x, "/", p.Panel.GridPos.Y+y)
				if places[cell] || p.Panel.GridPos.X+x >= columns {
					say("panel %q: lies on another one, or out of the grid", *p.Panel.Title)
					return found
				}
				places[cell] = true
			}
		}
	}
	return found
}

func panelProblems(p *dashboard.Panel) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	about := ""
	if p.Description != nil {
		about = *p.Description
	}
	if !strings.Contains(about, "Good:") {
		say("its description does not say what good looks like")
	}
	defaults := p.FieldConfig.Defaults
	if defaults.NoValue == nil || *defaults.NoValue == "" {
		say("says nothing without data")
	}
	if defaults.Unit == nil && p.Type != "heatmap" {
		say("has no unit")
	}
	if defaults.Thresholds == nil || len(defaults.Thresholds.Steps) == 0 || defaults.Thresholds.Steps[0].Color == "green" {
		say("has Grafana's own thresholds")
	}
	if len(p.Targets) == 0 {
		say("has no query")
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		var t struct{ RefID, Expr, LegendFormat string }
		text, err := json.Marshal(target)
		if err == nil {
			err = json.Unmarshal(text, &t)
		}
		if err != nil || t.RefID == "" || refs[t.RefID] || t.Expr == "" || t.LegendFormat == "" {
			say("query %+v (%v): needs a refId of its own, an expression, and a legend", t, err)
		}
		refs[t.RefID] = true
	}
	text, err := json.Marshal(p.Options)
	if err != nil {
		say("%v", err)
	}
	var options any
	if err := json.Unmarshal(text, &options); err != nil {
		say("%v", err)
	}
	return append(found, optionProblems("options", options)...)
}

func optionProblems(path string, v any) (found []string) {
	m, ok := v.(map[string]any)
	switch {
	case ok:
		for key, value := range m {
			found = append(found, optionProblems(path+"."+key, value)...)
		}
	case v == "":
		found = append(found, path+" is an empty string")
	case strings.HasSuffix(path, ".showLegend") && v == false:
		found = append(found, "the legend is hidden")
	}
	return found
}

// TestProblemsAreSeen proves that the check above can fail.
func TestProblemsAreSeen(t *testing.T) {
	good, err := render(overload())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"unexpected field":    {`"uid": "overload"`, `"uid": "overload", "wid": 1`},
		"no uid of its own":   {`"uid": "overload"`, `"uid": ""`},
		"has no step":         {`"step": "2s",`, ``},
		"needs a refId":       {`"refId": "B"`, `"refId": "A"`},
		"is an empty string":  {`"orientation": "auto"`, `"orientation": ""`},
		"legend is hidden":    {`"showLegend": true`, `"showLegend": false`},
		"what good looks":     {`Good:`, `Fine:`},
		"own thresholds":      {`"color": "` + white + `"`, `"color": "green"`},
		"has no unit":         {`"unit": "reqps",`, ``},
		"without data":        {`"noValue": "` + nothing + `",`, ``},
		"lies on another one": {`"x": 16`, `"x": 8`},
	} {
		bad := strings.ReplaceAll(string(good), change[0], change[1])
		if found := problems([]byte(bad), map[string]bool{}); !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, name) }) {
			t.Errorf("%s: got %q", name, found)
		}
	}
}

// TestColoursCanBeToldApart allows only the palette.
func TestColoursCanBeToldApart(t *testing.T) {
	palette := []string{green, sky, grey, vermillion, orange, purple, yellow, blue, white, quiet, alarm}
	for name, b := range all() {
		text, err := render(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`"(?:color|fixedColor|iconColor)": "([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(palette, match[1]) {
				t.Errorf("%s: colour %s is not of the palette", name, match[1])
			}
		}
	}
}
