package scenario

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/expr-lang/expr/types"

	"shedload/internal/work"
)

// shape describes a JSON value by the Go type that it is made from: what names an
// expression may use, and what a name is worth when the value leaves it out.
type shape struct {
	fields map[string]*shape // an object; nil for anything else
	item   *shape            // a list
	typ    types.Type        // a scalar
	zero   any
	// open says that an object has names that are not known beforehand, all alike.
	open *shape
}

var (
	numberShape = &shape{typ: types.Float64, zero: 0.0}
	textShape   = &shape{typ: types.String, zero: ""}
	boolShape   = &shape{typ: types.Bool, zero: false}
	// maybeShape is a number or nil: comparing nil fails the expectation.
	maybeShape = &shape{typ: types.Any}
)

// names are what only one plan knows: the keys of a dictionary.
type names struct{ classes []string }

// shapeOf describes the JSON of a Go type.
func shapeOf(t reflect.Type, key string, ns names) *shape {
	switch {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return shapeOf(t.Elem(), key, ns)
	case t.Kind() == reflect.Pointer:
		return maybeShape
	case t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()):
		return textShape
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return maybeShape
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &shape{fields: map[string]*shape{}}
		s.addFields(t, ns)
		return s
	case reflect.Map:
		return dictionary(shapeOf(t.Elem(), "", ns), key, ns)
	case reflect.Slice, reflect.Array:
		return &shape{item: shapeOf(t.Elem(), key, ns)}
	case reflect.String:
		return textShape
	case reflect.Bool:
		return boolShape
	case reflect.Interface:
		return maybeShape
	}
	return numberShape
}

func (s *shape) addFields(t reflect.Type, ns names) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			s.addFields(f.Type, ns)
		default:
			if name == "" {
				name = f.Name
			}
			s.fields[name] = shapeOf(f.Type, name, ns)
		}
	}
}

// dictionary describes a map by its key in the JSON: reasons and classes are
// closed sets, so a name that cannot occur is an error and one that did not is 0.
func dictionary(item *shape, key string, ns names) *shape {
	s := &shape{fields: map[string]*shape{}}
	switch key {
	case "refused", "dropped":
		for r := work.None; r < work.NumReasons; r++ {
			if (key == "refused" && r.Refusal()) || (key == "dropped" && r.Drop()) {
				s.fields[r.String()] = item
			}
		}
	case "classes":
		for _, c := range ns.classes {
			s.fields[c] = item
		}
	default:
		s.open = item
	}
	return s
}

// env is the type that the expression checker works with.
func (s *shape) env() types.Type {
	switch {
	case s.fields != nil:
		m := types.Map{}
		for name, f := range s.fields {
			m[name] = f.env()
		}
		if s.open != nil {
			m[types.Extra] = s.open.env()
		}
		return m
	case s.item != nil:
		return types.Array(s.item.env())
	}
	return s.typ
}

// fill returns v with every name of the shape in it.
func (s *shape) fill(v any) any {
	switch {
	case s.fields != nil:
		m, _ := v.(map[string]any)
		out := maps.Clone(m)
		if out == nil {
			out = map[string]any{}
		}
		for name, f := range s.fields {
			out[name] = f.fill(out[name])
		}
		return out
	case s.item != nil:
		list, _ := v.([]any)
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = s.item.fill(item)
		}
		return out
	case v == nil:
		return s.zero
	}
	return v
}
