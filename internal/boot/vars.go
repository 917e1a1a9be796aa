package boot

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Var describes one variable, as read from the tags of a configuration's field:
// env (name), envDefault, help, and optionally allowed (words), min and max
// (whole numbers and durations), secret.
type Var struct {
	Name     string // with the prefix
	Default  string
	Help     string
	Allowed  string // what a value may be, in words; "" where the type says it itself
	Required bool
	Secret   bool

	field    string
	index    []int
	typ      reflect.Type
	min, max string
}

var (
	durationType  = reflect.TypeFor[time.Duration]()
	selfParseType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Vars lists the variables of a configuration, given a pointer to its struct.
func Vars(config any) ([]Var, error) {
	// A fresh value: the env package looks into pointers that are set, instead of listing them.
	fresh := reflect.New(reflect.TypeOf(config).Elem()).Interface()
	params, err := env.GetFieldParamsWithOptions(fresh, env.Options{Environment: map[string]string{}, Prefix: Prefix})
	if err != nil {
		return nil, fmt.Errorf("configuration type %T: %w", config, err)
	}
	byKey := make(map[string]env.FieldParams, len(params))
	for _, p := range params {
		byKey[p.OwnKey] = p
	}
	var vars []Var
	for _, f := range reflect.VisibleFields(reflect.TypeOf(config).Elem()) {
		key, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		p, ok := byKey[key]
		if !ok || key == "" {
			continue
		}
		v := Var{
			Name: p.Key, Default: p.DefaultValue, Required: p.Required || p.NotEmpty,
			Help: f.Tag.Get("help"), Allowed: f.Tag.Get("allowed"), Secret: f.Tag.Get("secret") == "true",
			field: f.Name, index: f.Index, typ: f.Type, min: f.Tag.Get("min"), max: f.Tag.Get("max"),
		}
		if v.Allowed == "" {
			v.Allowed = v.allowed()
		}
		vars = append(vars, v)
	}
	return vars, nil
}

// allowed says in words what a value may be.
func (v Var) allowed() string {
	limits := ""
	switch {
	case v.min != "" && v.max != "":
		limits = " from " + v.min + " to " + v.max
	case v.min != "":
		limits = " of at least " + v.min
	}
	switch kind := v.typ.Kind(); {
	case v.typ == durationType:
		return "a duration (250ms, 10s)" + limits
	case v.selfParsing():
		return ""
	case kind == reflect.Bool:
		return "true or false"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return "a whole number" + limits
	}
	return ""
}

func (v Var) selfParsing() bool {
	return v.typ.Implements(selfParseType) || reflect.PointerTo(v.typ).Implements(selfParseType)
}

// unreadable is the problem of a value that cannot be read. A type that parses
// itself knows best what was wrong; the standard parsers say only how they failed.
func (v Var) unreadable(err error) string {
	switch {
	case v.Allowed == "":
		return err.Error()
	case v.selfParsing():
		return err.Error() + "; allowed: " + v.Allowed
	}
	return "allowed: " + v.Allowed
}

func (v Var) wrong(value, problem string) error {
	if v.Secret && value != "" {
		value = masked
	}
	return WrongVar{Name: v.Name, Value: value, Problem: problem}
}

// outOfRange checks the min and max tags.
func (v Var) outOfRange(field reflect.Value) []error {
	if v.min == "" && v.max == "" {
		return nil
	}
	var n int64
	if field.CanUint() {
		n = int64(min(field.Uint(), 1<<63-1))
	} else {
		n = field.Int()
	}
	if (v.min != "" && n < v.bound(v.min)) || (v.max != "" && n > v.bound(v.max)) {
		return []error{v.wrong(text(field), "allowed: "+v.Allowed)}
	}
	return nil
}

// bound reads a min or max tag; a wrong one is a bug in the configuration type.
func (v Var) bound(tag string) int64 {
	if v.typ == durationType {
		d, err := time.ParseDuration(tag)
		if err != nil {
			panic(fmt.Sprintf("boot: field %s: bound %q: %v", v.field, tag, err))
		}
		return int64(d)
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("boot: field %s: bound %q: %v", v.field, tag, err))
	}
	return n
}

// text formats a field as the environment would spell it; "" for a nil pointer,
// which stands for a variable that is not set.
func text(field reflect.Value) string {
	if field.Kind() == reflect.Pointer && field.IsNil() {
		return ""
	}
	if m, ok := field.Interface().(encoding.TextMarshaler); ok {
		if b, err := m.MarshalText(); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(field.Interface())
}
