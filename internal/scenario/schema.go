package scenario

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// object is a JSON object of a schema; encoding/json sorts its keys.
type object = map[string]any

const durationPattern = `^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*$|^0$`

// Schema returns a JSON schema (draft 2020-12) of scenario files, for editors. It
// follows from the types that files are decoded into, so it cannot fall behind;
// what types cannot say, only Load checks.
func Schema() []byte {
	g := generator{defs: object{}}
	root := g.structure(reflect.TypeFor[document]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "shedload scenario"
	root["required"] = []string{"name", "horizon", "clients"}
	root["$defs"] = g.defs
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("scenario: schema: %v", err)) // maps, lists and strings only
	}
	return append(text, '\n')
}

type generator struct{ defs object }

func (g generator) of(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return g.of(t.Elem())
	case t == durationType:
		return object{"type": "string", "pattern": durationPattern}
	case t == reflect.TypeFor[Expression]():
		return object{"type": []string{"string", "boolean"}}
	case isStruct(t) && isText(t):
		return object{"anyOf": []any{object{"type": "string"}, g.ref(t)}}
	case isStruct(t):
		return g.ref(t)
	case isText(t) && t.Kind() == reflect.Map:
		return object{"anyOf": []any{object{"type": "string"}, object{"type": "object", "additionalProperties": g.of(t.Elem())}}}
	case isText(t):
		if words := wordsOf(t); len(words) > 0 {
			return object{"enum": words}
		}
		return object{"type": []string{"string", "number"}}
	}
	switch t.Kind() {
	case reflect.Slice:
		return g.list(t.Elem())
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

// list is an array, or, in a variant and for items with names, a map of changes.
func (g generator) list(item reflect.Type) object {
	array := object{"type": "array", "items": g.of(item)}
	if !isStruct(item) {
		return array
	}
	if _, named := fieldNamed(item, "name"); !named {
		return array
	}
	return object{"anyOf": []any{array, object{"type": "object", "additionalProperties": g.of(item)}}}
}

// ref defines a struct type once, by its name.
func (g generator) ref(t reflect.Type) object {
	if _, done := g.defs[t.String()]; !done {
		g.defs[t.String()] = nil // ends the recursion of a type that holds itself
		g.defs[t.String()] = g.structure(t)
	}
	return object{"$ref": "#/$defs/" + t.String()}
}

func (g generator) structure(t reflect.Type) object {
	properties := object{}
	for _, f := range fields(t) {
		p := g.of(f.typ)
		if f.doc != "" {
			p["description"] = f.doc
		}
		properties[f.name] = p
	}
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

// wordsOf lists the values of a text type with a fixed list of them: it says so
// itself, or it is a small number, whose values can be tried.
func wordsOf(t reflect.Type) []string {
	v := reflect.New(t)
	if e, ok := v.Interface().(enum); ok {
		return e.Allowed()
	}
	if t.Kind() != reflect.Uint8 {
		return nil
	}
	var out []string
	for i := range 256 {
		v.Elem().SetUint(uint64(i))
		if word := wordFor(v); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// wordFor returns the text form of a value if that reads back as the value.
func wordFor(v reflect.Value) (word string) {
	defer func() {
		if recover() != nil {
			word = "" // a number without a name
		}
	}()
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return ""
	}
	text, err := m.MarshalText()
	back := reflect.New(v.Type().Elem())
	if err != nil || back.Interface().(encoding.TextUnmarshaler).UnmarshalText(text) != nil || !back.Elem().Equal(v.Elem()) {
		return ""
	}
	return string(text)
}
