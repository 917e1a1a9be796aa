// Package boot is the rim of a program: it turns the environment into a checked
// configuration once, and provides the logger, the signals, the HTTP servers and
// the shutdown that the three programs share. Nothing here knows about overload.
package boot

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Prefix starts the name of every variable that the programs read.
const Prefix = "SHEDLOAD_"

// Validator is implemented by configurations with rules that concern more than
// one variable. It returns WrongVar values, joined where there are several.
type Validator interface{ Validate() error }

// WrongVar is one variable that cannot be used, and why.
type WrongVar struct {
	Name    string // with the prefix
	Value   string // as given; secrets are masked
	Problem string // what is wrong and what is allowed
}

// Error names the variable, its value and the problem.
func (w WrongVar) Error() string { return fmt.Sprintf("%s=%q: %s", w.Name, w.Value, w.Problem) }

// Wrong makes the error for a rule of Validate. The name has no prefix.
func Wrong(name string, value any, problem string) error {
	return WrongVar{Name: Prefix + name, Value: fmt.Sprint(value), Problem: problem}
}

// ConfigError is everything that is wrong with an environment, at once.
type ConfigError struct {
	Program string
	Wrong   []error
}

// Error has one line per wrong variable.
func (e *ConfigError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d wrong in the environment:", e.Program, len(e.Wrong))
	for _, w := range e.Wrong {
		b.WriteString("\n  " + w.Error())
	}
	return b.String()
}

// Unwrap gives errors.As and errors.Is the single errors.
func (e *ConfigError) Unwrap() []error { return e.Wrong }

// Load reads the configuration T of a program from environ ("NAME=value" each).
// Everything that is wrong is reported together, as a *ConfigError: values that
// cannot be read or are out of range, missing ones, what T's Validate says, and
// variables with our prefix that none of the programs knows. A variable that is
// set but empty counts as not set.
func Load[T any](program string, environ []string) (T, error) {
	var c T
	values := env.ToMap(environ)
	vars, err := Vars(&c)
	if err != nil {
		return c, err
	}
	wrong := unknown(values, vars)
	parseErr := env.ParseWithOptions(&c, env.Options{Environment: own(values, vars), Prefix: Prefix})
	bad := map[string]bool{}
	for _, w := range parseErrors(parseErr, vars, values) {
		wrong = append(wrong, w)
		bad[w.(WrongVar).Name] = true
	}
	for _, v := range vars {
		if !bad[v.Name] {
			wrong = append(wrong, v.outOfRange(reflect.ValueOf(&c).Elem().FieldByIndex(v.index))...)
		}
	}
	// Rules across variables make no sense on values that could not be read.
	if v, ok := any(&c).(Validator); ok && len(wrong) == 0 {
		wrong = append(wrong, flatten(v.Validate())...)
	}
	if len(wrong) > 0 {
		return c, &ConfigError{Program: program, Wrong: wrong}
	}
	return c, nil
}

// own picks the variables of a program. The env package would take others for
// fields without a name, a bare prefix for instance.
func own(values map[string]string, vars []Var) map[string]string {
	picked := make(map[string]string, len(vars))
	for _, v := range vars {
		if value, ok := values[v.Name]; ok {
			picked[v.Name] = value
		}
	}
	return picked
}

// parseErrors turns what the env package reports, which names Go fields, into
// errors that name the variable.
func parseErrors(err error, vars []Var, values map[string]string) []error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return nil
	}
	byField := make(map[string]Var, len(vars))
	byName := make(map[string]Var, len(vars))
	for _, v := range vars {
		byField[v.field] = v
		byName[v.Name] = v
	}
	var wrong []error
	for _, e := range all.Errors {
		var parse env.ParseError
		var unset env.VarIsNotSetError
		var empty env.EmptyVarError
		switch {
		case errors.As(e, &parse):
			v := byField[parse.Name]
			wrong = append(wrong, v.wrong(values[v.Name], v.unreadable(parse.Err)))
		case errors.As(e, &unset):
			wrong = append(wrong, byName[unset.Key].wrong("", "must be set: "+byName[unset.Key].Help))
		case errors.As(e, &empty):
			wrong = append(wrong, byName[empty.Key].wrong("", "must not be empty: "+byName[empty.Key].Help))
		default:
			panic(fmt.Sprintf("boot: configuration type: %v", e)) // a bug in a struct tag, not in the environment
		}
	}
	return wrong
}

// flatten returns the single errors of a joined error.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}

// unknown reports the variables with our prefix that no program reads: nearly
// always a typing error, and one that would otherwise silently do nothing.
func unknown(values map[string]string, own []Var) []error {
	known := map[string]bool{}
	for _, v := range own {
		known[v.Name] = true
	}
	for _, p := range Programs() {
		for _, v := range p.Vars {
			known[v.Name] = true
		}
	}
	var wrong []error
	for _, name := range sortedKeys(values) {
		if !strings.HasPrefix(name, Prefix) || known[name] {
			continue
		}
		problem := "no program knows this variable"
		if near := nearest(name, known); near != "" {
			problem += "; did you mean " + near + "?"
		}
		// The value may be a secret under a misspelt name.
		wrong = append(wrong, WrongVar{Name: name, Value: "…", Problem: problem})
	}
	return wrong
}
