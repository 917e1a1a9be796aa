package scenario

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Document returns the plan as a scenario file of one variant, in JSON, which is
// YAML too: everything resolved, and loaded again the same plan but for its
// variant's name and its expectations. It is what the record of a run keeps.
func (p Plan) Document() []byte {
	out := p.unscaled
	if out == nil {
		out = p.keys()
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("scenario: plan: %v", err)) // checked values only
	}
	return append(text, '\n')
}

// keys returns the plan as the keys of a scenario file.
func (p Plan) keys() map[string]any {
	e := experiment{
		Name: p.Scenario, About: p.About, Seed: uint64(p.Seed), Horizon: p.Horizon, Warmup: p.Warmup,
		Server: p.Server, Backend: p.Backend, Clients: p.Clients, Phases: p.Phases, Faults: p.Faults,
		Classes: p.Classes, End: p.End, Model: p.Model, Recovery: p.Recovery, Live: p.Live,
	}
	for _, w := range p.Windows {
		e.Windows = append(e.Windows, Window{WindowSpec: w})
	}
	out := encode(reflect.ValueOf(e)).(map[string]any)
	out["seed"] = e.Seed // the one key whose zero is not its default
	return out
}

// silent reports whether a value has no text, as a kind that was not chosen.
func silent(m encoding.TextMarshaler) bool {
	text, err := m.MarshalText()
	return err != nil || len(text) == 0
}

// encode is the inverse of a decoder: it writes what that reads. Keys that are zero
// are left out, unless their zero has a word, such as fifo.
func encode(v reflect.Value) any {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer:
		return encode(v.Elem())
	case t == durationType:
		return time.Duration(v.Int()).String()
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			panic(fmt.Sprintf("scenario: %s: %v", t, err)) // it was read from its text
		}
		return string(text)
	}
	switch t.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range fields(t) {
			x := v.FieldByIndex(f.index)
			if word, ok := x.Interface().(encoding.TextMarshaler); x.IsZero() && (!ok || x.Kind() == reflect.Pointer || silent(word)) {
				continue
			}
			out[f.name] = encode(x)
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = encode(v.Index(i))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = encode(v.MapIndex(k))
		}
		return out
	}
	return v.Interface()
}
