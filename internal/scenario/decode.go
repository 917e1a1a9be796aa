package scenario

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// decoder fills Go values from nodes, strictly: a key that the Go type does not
// know and a value of another kind are problems, and all are found in one pass.
type decoder struct{ problems }

func (d *decoder) value(n *node, path string, v reflect.Value) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		d.value(n, path, p.Elem())
		v.Set(p)
	case reflect.PointerTo(t).Implements(nodeType):
		if err := v.Addr().Interface().(fromNode).fromNode(n); err != nil {
			d.add(n.at, path, "%s", err)
		}
	case n.kind == nullKind:
		d.add(n.at, path, "has no value: leave the key out, or write %s", want(t))
	case t == durationType:
		d.duration(n, path, v)
	case isText(t) && n.kind != mapKind && n.kind != listKind:
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.text)); err != nil {
			d.add(n.at, path, "%s", err)
		}
	case isStruct(t) && n.kind == mapKind:
		d.structure(n, path, v)
	default:
		d.plain(n, path, v)
	}
}

func (d *decoder) structure(n *node, path string, v reflect.Value) {
	if def, ok := v.Addr().Interface().(defaulted); ok {
		def.defaults()
	}
	known := fields(v.Type())
	for _, e := range n.keys {
		i := -1
		for j, f := range known {
			if f.name == e.name {
				i = j
			}
		}
		if i < 0 {
			d.add(e.at, join(path, e.name), "%s", Unknown("key", e.name, fieldNames(known)))
			continue
		}
		d.value(e.value, join(path, e.name), v.FieldByIndex(known[i].index))
	}
}

// plain decodes what is neither a duration, a text form nor a struct.
func (d *decoder) plain(n *node, path string, v reflect.Value) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Slice && n.kind == listKind:
		s := reflect.MakeSlice(t, len(n.list), len(n.list))
		for i, item := range n.list {
			d.value(item, fmt.Sprintf("%s[%d]", path, i), s.Index(i))
		}
		v.Set(s)
	case t.Kind() == reflect.Map && n.kind == mapKind:
		m := reflect.MakeMapWithSize(t, len(n.keys))
		for _, e := range n.keys {
			item := reflect.New(t.Elem()).Elem()
			d.value(e.value, join(path, e.name), item)
			m.SetMapIndex(reflect.ValueOf(e.name).Convert(t.Key()), item)
		}
		v.Set(m)
	case t.Kind() == reflect.String && (n.kind == textKind || n.kind == numberKind):
		v.SetString(n.text)
	case t.Kind() == reflect.Bool && n.kind == boolKind:
		v.SetBool(strings.EqualFold(n.text, "true"))
	case n.kind == numberKind && isNumber(t.Kind()):
		d.number(n, path, v)
	default:
		d.add(n.at, path, "is %s: allowed is %s", n, want(t))
	}
}

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

func (d *decoder) number(n *node, path string, v reflect.Value) {
	text := strings.ReplaceAll(n.text, "_", "")
	var err error
	switch {
	case v.CanInt():
		var i int64
		if i, err = strconv.ParseInt(text, 10, v.Type().Bits()); err == nil {
			v.SetInt(i)
		}
	case v.CanUint():
		var u uint64
		if u, err = strconv.ParseUint(text, 10, v.Type().Bits()); err == nil {
			v.SetUint(u)
		}
	default:
		var f float64
		if f, err = strconv.ParseFloat(text, 64); err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
			err = strconv.ErrRange
		}
		v.SetFloat(f)
	}
	if err != nil {
		d.add(n.at, path, "is %s: allowed is %s", n.text, want(v.Type()))
	}
}

func (d *decoder) duration(n *node, path string, v reflect.Value) {
	const allowed = "allowed is a number with its unit, such as 250ms, 10s, 1m30s"
	if n.kind != textKind {
		if n.kind == numberKind {
			d.add(n.at, path, "%s has no unit: %s", n.text, allowed)
		} else {
			d.add(n.at, path, "is %s: %s", n, allowed)
		}
		return
	}
	t, err := time.ParseDuration(n.text)
	if err != nil {
		d.add(n.at, path, "%q is not a duration: %s", n.text, allowed)
		return
	}
	v.SetInt(int64(t))
}

// String describes a node in a message: its text, or its kind.
func (n *node) String() string {
	switch n.kind {
	case textKind:
		return strconv.Quote(n.text)
	case numberKind, boolKind:
		return n.text
	}
	return n.kind.String()
}

// want says in words what a type accepts.
func want(t reflect.Type) string {
	if e, ok := reflect.New(t).Interface().(enum); ok {
		return strings.Join(e.Allowed(), ", ")
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return want(t.Elem())
	case t == durationType:
		return "a duration"
	case isStruct(t) && isText(t):
		return "text, or a map of " + strings.Join(fieldNames(fields(t)), ", ")
	case isStruct(t):
		return "a map of " + strings.Join(fieldNames(fields(t)), ", ")
	}
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a map"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a finite number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	}
	return "text"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
