package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// board is one dashboard.
type board struct {
	uid, title, about string
	many              bool // shows several runs side by side, chosen by a variable
	rows              []row
}

// row is panels beside each other, under a title unless that is empty.
type row struct {
	title  string
	panels []placed
}

// placed is a panel and its size on a grid of 24 columns. Where a row is full, the
// next panel begins another line; one that is under stands under the one before.
type placed struct {
	panel
	w, h  uint32
	under bool
}

// panel is anything that can be shown.
type panel interface {
	build() (dashboard.Panel, error)
}

var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("prometheus")}

func (b board) build() (dashboard.Dashboard, error) {
	d, err := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.about).
		Tags([]string{"shedload"}).Readonly().Refresh("1s").Time("now-3m", "now").Timezone("browser").
		Timepicker(dashboard.NewTimePickerBuilder().RefreshIntervals([]string{"1s", "5s", "30s", "1m"})).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Dashboards").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{"shedload"}).KeepTime(true)).
		WithVariable(b.variable()).
		Annotation(spikes()).Annotation(policies()).
		Build()
	if err != nil {
		return d, err
	}
	d.Panels, err = b.layout()
	return d, err
}

// variable chooses the run, or the runs.
func (b board) variable() cog.Builder[dashboard.VariableModel] {
	v := dashboard.NewQueryVariableBuilder("run").Label("run").Datasource(source).
		Description("Which lane: live, or one of those of the compose profile compare.").
		Query(dashboard.StringOrMap{String: new("label_values(shedload_discipline_info, run)")}).
		AllowCustomValue(false).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
	if b.many {
		return v.Multi(true).IncludeAll(true).AllValue(".+").Current(option("All", "$__all"))
	}
	return v.Multi(false).IncludeAll(false).Current(option("live", "live"))
}

func option(text, value string) dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{String: &text}, Value: dashboard.StringOrArrayOfString{String: &value},
	}
}

// spikes shades the time of each phase of load. Without a step Grafana looks once
// a minute, and a short spike would never be seen.
func spikes() cog.Builder[dashboard.AnnotationQuery] {
	return dashboard.NewAnnotationQueryBuilder().Name("spikes").Datasource(source).Enable(true).IconColor(orange).
		Expr(`max by (phase) (shedload_phase{run=~"$run", phase!="baseline"}) == 1`).
		Step("2s").TitleFormat("{{phase}}").TagKeys("phase")
}

// policies draws a line where the policy was changed.
func policies() cog.Builder[dashboard.AnnotationQuery] {
	return dashboard.NewAnnotationQueryBuilder().Name("policy changes").Datasource(source).Enable(true).IconColor(sky).
		Expr(`1000 * max by (run) (shedload_policy_changed_timestamp_seconds{run=~"$run"} > 0)`). // milliseconds
		Step("2s").UseValueForTime(true).TitleFormat("policy of {{run}} changed").TagKeys("run")
}

// layout gives the panels their places.
func (b board) layout() ([]dashboard.PanelOrRowPanel, error) {
	var out []dashboard.PanelOrRowPanel
	var y uint32 // where the next row begins
	for _, r := range b.rows {
		if r.title != "" {
			out = append(out, dashboard.PanelOrRowPanel{RowPanel: &dashboard.RowPanel{
				Type: "row", Title: &r.title, Id: uint32(len(out) + 1), Panels: []dashboard.Panel{},
				GridPos: &dashboard.GridPos{H: 1, W: columns, Y: y},
			}})
			y++
		}
		for i, pos := range r.places(y) {
			built, err := r.panels[i].build()
			if err != nil {
				return nil, fmt.Errorf("row %q, panel %d: %w", r.title, i, err)
			}
			built.Id, built.GridPos = new(uint32(len(out)+1)), &pos
			out = append(out, dashboard.PanelOrRowPanel{Panel: &built})
			y = max(y, pos.Y+pos.H)
		}
	}
	return out, nil
}

// columns is the width of Grafana's grid.
const columns = 24

// places puts the panels of a row beside each other, line by line from y on.
func (r row) places(y uint32) []dashboard.GridPos {
	var all []dashboard.GridPos
	pos, bottom := dashboard.GridPos{Y: y}, y
	for _, p := range r.panels {
		switch {
		case p.under:
			pos.X, pos.Y, y = pos.X-pos.W, pos.Y+pos.H, pos.Y+pos.H
		case pos.X+p.w > columns:
			pos.X, pos.Y, y = 0, bottom, bottom
		default:
			pos.Y = y
		}
		pos.W, pos.H = p.w, p.h
		all = append(all, pos)
		bottom = max(bottom, pos.Y+pos.H)
		pos.X += p.w
	}
	return all
}
