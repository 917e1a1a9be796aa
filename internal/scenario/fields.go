package scenario

import (
	"encoding"
	"reflect"
	"strings"
	"time"
	"unicode"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	nodeType     = reflect.TypeFor[fromNode]()
)

// fromNode is implemented by types of this package that keep their place in the file.
type fromNode interface{ fromNode(n *node) error }

// enum is implemented by text types with a fixed list of values, for messages and the schema.
type enum interface{ Allowed() []string }

// defaulted is implemented by types whose absent keys are not zero.
type defaulted interface{ defaults() }

// field is one key of a map in a scenario file: a field of a Go struct.
type field struct {
	name  string
	doc   string
	typ   reflect.Type
	index []int
}

// fields lists the keys of a struct type, in order. A field without a yaml tag is
// named by its Go name in snake case; one marked "-" does not exist in files.
func fields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case tag == "-":
		case opts == "inline": // also an embedded struct whose own name is not exported
			for _, in := range fields(f.Type) {
				in.index = append([]int{i}, in.index...)
				out = append(out, in)
			}
		case f.IsExported():
			if tag == "" {
				tag = snake(f.Name)
			}
			out = append(out, field{tag, f.Tag.Get("doc"), f.Type, []int{i}})
		}
	}
	return out
}

func fieldNames(fs []field) []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	return names
}

func fieldNamed(t reflect.Type, name string) (field, bool) {
	for _, f := range fields(t) {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// isText reports whether a type reads itself from one scalar.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// isStruct reports whether a type is written as a map of known keys. A type with
// a text form is one only if it names keys as well: a short form and a long one.
func isStruct(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(nodeType) || len(fields(t)) == 0 {
		return false
	}
	return !isText(t) || hasKeys(t)
}

func hasKeys(t reflect.Type) bool {
	for i := range t.NumField() {
		if _, ok := t.Field(i).Tag.Lookup("yaml"); ok {
			return true
		}
	}
	return false
}
