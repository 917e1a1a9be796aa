package main

import (
	"maps"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// words are what every panel says: what it shows and what good looks like, and
// what it says without data.
type words struct{ title, about, unit, none string }

func (w words) empty() string {
	if w.none != "" {
		return w.none
	}
	return nothing
}

// chart is lines over time.
type chart struct {
	words
	stacked bool
	max     float64 // of the axis; 0 by the data
	axis    string  // what is on the left one, where there is another on the right
	lines   []line
}

// line is one query. Its name may be a template, such as {{reason}}.
type line struct {
	name, expr string
	color      string // where the name is no template
	right      bool   // has an axis of its own, on the right
	strong     bool
	dashed     bool
}

func queries(lines []line, format prometheus.PromQueryFormat) []cog.Builder[variants.Dataquery] {
	var out []cog.Builder[variants.Dataquery]
	for i, l := range lines {
		out = append(out, prometheus.NewDataqueryBuilder().Datasource(source).RefId(string(rune('A'+i))).
			Expr(l.expr).LegendFormat(l.name).Range().Format(format).EditorMode(prometheus.QueryEditorModeCode))
	}
	return out
}

func (c chart) build() (dashboard.Panel, error) {
	p := timeseries.NewPanelBuilder().Title(c.title).Description(c.about).Datasource(source).Interval("1s").
		Targets(queries(c.lines, prometheus.PromQueryFormatTimeSeries)).
		Unit(c.unit).NoValue(c.empty()).Min(0).Thresholds(plain()).
		DrawStyle(common.GraphDrawStyleLine).LineWidth(2).FillOpacity(0).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom).Calcs([]string{})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if c.max > 0 {
		p.Max(c.max)
	}
	if c.axis != "" {
		p.AxisLabel(c.axis)
	}
	if c.stacked {
		p.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A")).FillOpacity(60).LineWidth(1)
	}
	for _, name := range slices.Sorted(maps.Keys(meaning)) {
		if c.templated() {
			p.OverrideByName(name, fixed(meaning[name]))
		}
	}
	for _, l := range c.lines {
		if properties := l.properties(); len(properties) > 0 {
			p.OverrideByName(l.name, properties)
		}
	}
	return p.Build()
}

// templated reports whether labels name series.
func (c chart) templated() bool {
	return slices.ContainsFunc(c.lines, func(l line) bool { return l.color == "" })
}

func (l line) properties() []dashboard.DynamicConfigValue {
	if l.color == "" {
		return nil
	}
	properties := fixed(l.color)
	add := func(id string, value any) {
		properties = append(properties, dashboard.DynamicConfigValue{Id: id, Value: value})
	}
	if l.strong {
		add("custom.lineWidth", 4)
		add("custom.fillOpacity", 12)
	}
	if l.dashed {
		add("custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{8, 6}})
	}
	if l.right {
		add("custom.axisPlacement", "right")
		add("custom.axisLabel", l.name)
		add("custom.stacking", map[string]any{"mode": "none", "group": "A"})
		add("custom.fillOpacity", 0)
	}
	return properties
}

func fixed(color string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{{Id: "color", Value: map[string]string{"mode": "fixed", "fixedColor": color}}}
}

// plain are thresholds that colour nothing. Grafana's default paints all above 80 red.
func plain() *dashboard.ThresholdsConfigBuilder {
	return thresholds(dashboard.Threshold{Color: white})
}

func thresholds(steps ...dashboard.Threshold) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// figure is one big number or word, the newest.
type figure struct {
	words
	line     line
	names    bool // shows the names of series, not their values
	states   []struct{ value, text, color string }
	decimals float64
	steps    []dashboard.Threshold
}

func (f figure) build() (dashboard.Panel, error) {
	mode := common.BigValueTextModeValue
	if f.names {
		mode = common.BigValueTextModeName
	}
	steps := plain()
	if len(f.steps) > 0 {
		steps = thresholds(f.steps...)
	}
	return stat.NewPanelBuilder().Title(f.title).Description(f.about).Datasource(source).Interval("1s").
		WithTarget(prometheus.NewDataqueryBuilder().Datasource(source).RefId("A").Expr(f.line.expr).LegendFormat(f.line.name).
			Instant().Format(prometheus.PromQueryFormatTimeSeries).EditorMode(prometheus.QueryEditorModeCode)).
		Unit(f.unit).Decimals(f.decimals).NoValue(f.empty()).Thresholds(steps).Mappings(mapped(f.states)).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}).Values(false)).
		// An empty orientation would show the first series alone.
		Orientation(common.VizOrientationAuto).TextMode(mode).ColorMode(common.BigValueColorModeBackground).
		GraphMode(common.BigValueGraphModeNone).JustifyMode(common.BigValueJustifyModeCenter).
		PercentChangeColorMode(common.PercentChangeColorModeStandard).
		Build()
}

// mapped turns numbers into coloured words.
func mapped(states []struct{ value, text, color string }) []dashboard.ValueMapping {
	if len(states) == 0 {
		return nil
	}
	options := map[string]dashboard.ValueMappingResult{}
	for i, s := range states {
		options[s.value] = dashboard.ValueMappingResult{Text: &s.text, Color: &s.color, Index: new(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}}
}

// timeline is bars of states over time, one a series.
type timeline struct {
	words
	states []struct{ value, text, color string }
	line   line
}

func (t timeline) build() (dashboard.Panel, error) {
	return statetimeline.NewPanelBuilder().Title(t.title).Description(t.about).Datasource(source).Interval("1s").
		Targets(queries([]line{t.line}, prometheus.PromQueryFormatTimeSeries)).
		Unit(t.unit).NoValue(t.empty()).Thresholds(plain()).Mappings(mapped(t.states)).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		ShowValue(common.VisibilityModeAuto).MergeValues(true).RowHeight(0.9).FillOpacity(90).LineWidth(0).
		AlignValue(common.TimelineValueAlignmentLeft).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom).Calcs([]string{})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeSingle).Sort(common.SortOrderNone)).
		Build()
}

// heat is a histogram over time; its query gives the rate of each bucket by le.
type heat struct {
	words
	expr string
}

func (h heat) build() (dashboard.Panel, error) {
	return heatmap.NewPanelBuilder().Title(h.title).Description(h.about).Datasource(source).Interval("1s").
		Targets(queries([]line{{name: "{{le}}", expr: h.expr}}, prometheus.PromQueryFormatHeatmap)).
		NoValue(h.empty()).Thresholds(plain()).Calculate(false).CellGap(1).
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Viridis").
			Scale(heatmap.HeatmapColorScaleExponential).Exponent(0.5).Steps(64).Fill(white)).
		FilterValues(heatmap.NewFilterValueRangeBuilder().Le(1e-9)).
		YAxis(heatmap.NewYAxisConfigBuilder().AxisPlacement(common.AxisPlacementLeft).Unit(h.unit)).
		CellValues(heatmap.NewCellValuesBuilder().Unit(perSecond)).
		RowsFrame(heatmap.NewRowsHeatmapOptionsBuilder().Layout(common.HeatmapCellLayoutAuto)).
		Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).ShowColorScale(true)).
		ExemplarsColor(purple).ShowLegend().
		Build()
}
