package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"shedload/internal/ledger"
)

// The geometry of a chart, in the units of its viewBox.
const (
	chartWidth  = 720
	chartHeight = 170
	marginLeft  = 64
	marginRight = 12
	marginTop   = 22
	marginDown  = 26
)

// curve is one line of a chart. Its class gives the colour: the same word has the
// same colour everywhere.
type curve struct {
	name, class string
	value       func(r *ledger.Row) float64
}

// chart is curves over the same seconds on one scale.
type chart struct {
	title  string
	curves []curve
}

func panels(v *Variant) []chart {
	goodput := curve{"goodput", "goodput", func(r *ledger.Row) float64 { return float64(r.GoodputClient) }}
	load := chart{"Asked for, per second", []curve{
		{"offered attempts", "offered", func(r *ledger.Row) float64 { return float64(r.Offered) }},
		{"new requests", "requests", func(r *ledger.Row) float64 { return float64(r.Requests) }},
	}}
	if v.View == "client" {
		return []chart{{"Delivered, per second", []curve{goodput}}, load}
	}
	return []chart{
		{"Delivered, per second", []curve{
			{"throughput", "throughput", func(r *ledger.Row) float64 { return float64(r.Throughput) }},
			{"late", "late", func(r *ledger.Row) float64 { return float64(r.Late) }},
			goodput,
		}},
		load,
		{"Queue at the second's end", []curve{
			{"queued", "queue", func(r *ledger.Row) float64 { return float64(r.Queue) }},
		}},
	}
}

// charts draws a variant as one figure per panel.
func charts(v Variant) template.HTML {
	if len(v.Rows) < 2 {
		return "<p>Too short to draw.</p>"
	}
	var b strings.Builder
	for _, c := range panels(&v) {
		c.draw(&b, &v)
	}
	return template.HTML(b.String()) // built from numbers and escaped names only
}

// scale turns seconds and values into places.
type scale struct{ seconds, most float64 }

func (s scale) x(t float64) float64 {
	return marginLeft + t/s.seconds*(chartWidth-marginLeft-marginRight)
}

func (s scale) y(value float64) float64 {
	return chartHeight - marginDown - value/s.most*(chartHeight-marginTop-marginDown)
}

func (c chart) draw(b *strings.Builder, v *Variant) {
	most := 0.0
	for i := range v.Rows {
		for _, line := range c.curves {
			most = max(most, line.value(&v.Rows[i]))
		}
	}
	step := niceStep(max(most, 1) / 3)
	s := scale{seconds: float64(v.Rows[len(v.Rows)-1].T + 1), most: step * math.Ceil(max(most, 1)/step)}
	title := template.HTMLEscapeString(v.Heading() + ": " + c.title)
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n<title>%s</title>\n", chartWidth, chartHeight, title, title)
	s.trigger(b, v)
	s.axes(b, step)
	legend := float64(chartWidth - marginRight)
	for _, line := range c.curves {
		fmt.Fprintf(b, "<polyline class=\"line %s\" points=\"%s\"/>\n", line.class, s.points(v.Rows, line))
	}
	for i := len(c.curves) - 1; i >= 0; i-- { // from the right
		fmt.Fprintf(b, "<text class=\"name %s\" x=\"%.0f\" y=\"13\" text-anchor=\"end\">%s</text>\n", c.curves[i].class, legend, c.curves[i].name)
		legend -= 7*float64(len(c.curves[i].name)) + 14
	}
	fmt.Fprintf(b, "<text class=\"title\" x=\"%d\" y=\"13\">%s</text>\n</svg>\n", marginLeft, template.HTMLEscapeString(c.title))
}

// trigger shades the time of the trigger, and says which it was.
func (s scale) trigger(b *strings.Builder, v *Variant) {
	if v.Recovery.TriggerEndS == nil {
		return
	}
	from, to := s.x(v.TriggerStartS), s.x(*v.Recovery.TriggerEndS)
	fmt.Fprintf(b, "<rect class=\"trigger\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
		from, marginTop, max(1, to-from), chartHeight-marginTop-marginDown)
	fmt.Fprintf(b, "<text class=\"tick\" x=\"%.1f\" y=\"%d\">%s</text>\n",
		from+4, marginTop+12, template.HTMLEscapeString(v.Recovery.Trigger))
}

func (s scale) axes(b *strings.Builder, step float64) {
	for value := 0.0; value <= s.most; value += step {
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			marginLeft, chartWidth-marginRight, s.y(value), s.y(value), marginLeft-6, s.y(value)+4, figure(value))
	}
	step = niceStep(s.seconds / 6)
	for t := 0.0; t <= s.seconds; t += step {
		fmt.Fprintf(b, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s s</text>\n", s.x(t), chartHeight-8, figure(t))
	}
}

func (s scale) points(rows ledger.Rows, c curve) string {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "%.1f,%.1f ", s.x(float64(rows[i].T)+0.5), s.y(c.value(&rows[i])))
	}
	return strings.TrimSpace(b.String())
}

// niceStep rounds up to 1, 2 or 5 times a power of ten.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, k := range []float64{1, 2, 5} {
		if k*power >= x*(1-1e-9) {
			return k * power
		}
	}
	return 10 * power
}
