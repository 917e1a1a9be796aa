package scenario

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/work"
)

// Window is a span of a run that is counted on its own, or, with Every, a row of
// spans of that length, named NAME-START.
type Window struct {
	ledger.WindowSpec `yaml:",inline"`

	Every time.Duration `yaml:"every" doc:"cuts the span into windows of this length, named NAME-START"`
}

// specs lists the windows that w stands for.
func (w Window) specs() []ledger.WindowSpec {
	if w.Every == 0 {
		return []ledger.WindowSpec{w.WindowSpec}
	}
	var out []ledger.WindowSpec
	for from := w.From; from < w.To && len(out) <= ledger.MaxWindows; from += w.Every {
		part := w.WindowSpec
		part.Name = fmt.Sprintf("%s-%s", w.Name, from)
		part.From, part.To = from, min(w.To, from+w.Every)
		out = append(out, part)
	}
	return out
}

// plan returns the plan of a checked experiment, before its times are scaled.
func (e experiment) plan(variant string) Plan {
	p := Plan{
		Scenario: e.Name, Variant: variant, About: e.About, Seed: draw.Seed(e.Seed),
		Horizon: e.Horizon, Warmup: e.Warmup, TimeScale: e.TimeScale,
		Server: e.Server, Backend: e.Backend, Clients: e.Clients, Phases: e.Phases, Faults: e.Faults,
		Classes: e.Classes, End: e.End, Model: e.Model, Recovery: e.Recovery, Live: e.Live,
	}
	if p.Server.DropMargin == nil && p.Server.Discipline.HasDeadline() {
		m := p.Server.Discipline.Margin(nil) // said once, so that it can be shown and scaled
		p.Server.DropMargin = &m
	}
	for i := range p.Clients {
		a := &p.Clients[i].Arrivals
		if a.Until == 0 || a.Until > p.Horizon {
			a.Until = p.Horizon
		}
		for j, g := range p.Clients[i].Gates {
			p.Clients[i].Gates[j] = g.Resolved()
		}
	}
	for _, w := range e.Windows {
		p.Windows = append(p.Windows, w.specs()...)
	}
	return p
}

// scaled multiplies all times of a plan by k and divides all rates by it, then
// says what the verdict needs to know about them.
func (p Plan) scaled(k float64) Plan {
	if k != 1 {
		p.unscaled = p.keys() // a recorded trace is in a file, which nobody scales
		p.unscaled["time_scale"] = k
		scale(reflect.ValueOf(&p).Elem(), k)
		p.Recovery.Reference /= k // the one rate outside arrivals and phases
		p.TimeScale = k
	}
	for _, c := range p.Clients {
		p.Recovery.Patience = max(p.Recovery.Patience, c.Patience)
	}
	p.Recovery.Trigger = p.Trigger()
	return p
}

// Trigger is the span from the start of the first phase or fault to the end of the
// last; an empty one without any.
func (p Plan) Trigger() ledger.Span {
	var t ledger.Span
	grow := func(name string, at, length time.Duration) {
		if t.To == 0 || at < t.From {
			t.From, t.Name = at, name
		}
		t.To = max(t.To, min(at+length, p.Horizon))
	}
	for _, x := range p.Phases {
		grow(x.Name, x.At, x.For)
	}
	for _, x := range p.Faults {
		grow("", x.At, x.For)
	}
	return t
}

var instantType = reflect.TypeFor[work.Instant]()

// scale multiplies each time in v by k; types that know better scale themselves.
func scale(v reflect.Value, k float64) {
	switch t := v.Type(); {
	case t == durationType || t == instantType:
		v.SetInt(int64(math.Round(float64(v.Int()) * k)))
	case scalesItself(t): // and knows which of its numbers are rates
		v.Set(v.MethodByName("Scaled").Call([]reflect.Value{reflect.ValueOf(k)})[0])
	case t.Kind() == reflect.Pointer:
		if !v.IsNil() {
			scale(v.Elem(), k)
		}
	case t.Kind() == reflect.Slice:
		for i := range v.Len() {
			scale(v.Index(i), k)
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			switch f := t.Field(i); {
			case !f.IsExported():
			default:
				scale(v.Field(i), k)
			}
		}
	}
}

func scalesItself(t reflect.Type) bool {
	m, ok := t.MethodByName("Scaled")
	return ok && m.Type.NumIn() == 2 && m.Type.In(1).Kind() == reflect.Float64 && m.Type.NumOut() == 1 && m.Type.Out(0) == t
}
