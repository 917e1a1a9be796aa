package scenario

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// maxExpression bounds one expression, in nodes of its syntax tree.
const maxExpression = 200

// Expression is an expression of a file with its place. Its language is that of
// github.com/expr-lang/expr.
type Expression struct {
	Text string
	At   Position
}

func (e *Expression) fromNode(n *node) error {
	if n.kind != textKind && n.kind != boolKind && n.kind != numberKind {
		return fmt.Errorf("is %s: allowed is an expression, such as %q", n, "goodput_share > 0.97")
	}
	e.Text, e.At = n.text, n.at
	if n.quoted {
		e.At.Column++
	}
	return nil
}

// compile checks an expression against the names that it may use.
func (e Expression) compile(env types.Map, opts ...expr.Option) (*vm.Program, error) {
	opts = append([]expr.Option{expr.Env(env), expr.MaxNodes(maxExpression), fixed1, fixed2, pct, within}, opts...)
	p, err := expr.Compile(e.Text, opts...)
	if err == nil {
		return p, nil
	}
	at, message := e.At, err.Error()
	var fe *file.Error
	if errors.As(err, &fe) {
		message = fe.Message
		if fe.Line == 1 && at.Line > 0 {
			at.Column += fe.Column
		}
	}
	message, _, _ = strings.Cut(message, "\n")
	if name, ok := strings.CutPrefix(message, "unknown name "); ok {
		message = Unknown("name", name, slices.Sorted(maps.Keys(env)))
	} else if name, ok := strings.CutPrefix(message, "unknown field "); ok && fe != nil {
		if known := members(env, before(e.Text, fe.Column)); len(known) > 0 {
			message = Unknown("name", name, known)
		}
	}
	return nil, Problems{{at, "", fmt.Sprintf("%s, in %q", message, e.Text)}}
}

// before returns the chain of members that ends in front of a column.
func before(text string, column int) []string {
	chain := chains.FindString(text[:min(column, len(text))])
	var out []string
	for _, m := range steps.FindAllStringSubmatch(chain, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

var (
	chains = regexp.MustCompile(`[A-Za-z_](\w|\.|\[['"][^'"]*['"]\])*\[?$`)
	steps  = regexp.MustCompile(`([A-Za-z_]\w*)|\[['"]([^'"]*)['"]\]`)
)

// members lists the names inside the object that a chain leads to; none if it
// leads elsewhere, such as into a list.
func members(env types.Map, chain []string) []string {
	for _, name := range chain {
		inner, ok := env[name].(types.Map)
		if !ok {
			return nil
		}
		env = inner
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(env)), func(name string) bool { return name == types.Extra })
}

// fixed1 and fixed2 write a number with one or two decimals, as the published tables do.
var (
	fixed1 = fixed("fixed1", 1)
	fixed2 = fixed("fixed2", 2)
)

func fixed(name string, digits int) expr.Option {
	return expr.Function(name, func(args ...any) (any, error) {
		x, err := number(args[0])
		return strconv.FormatFloat(x, 'f', digits, 64), err
	}, new(func(any) string))
}

// pct is a share in per cent; of nothing it is 0.
var pct = expr.Function("pct", func(args ...any) (any, error) {
	part, err := number(args[0])
	if err != nil {
		return nil, err
	}
	whole, err := number(args[1])
	if err != nil || whole == 0 {
		return 0.0, err
	}
	return 100 * part / whole, nil
}, new(func(any, any) float64))

// within holds a number against a range of published ones, within(x, low, high), or
// against that range widened on both sides, within(x, low, high, percent).
var within = expr.Function("within", func(args ...any) (any, error) {
	var v [4]float64
	for i, a := range args {
		var err error
		if v[i], err = number(a); err != nil {
			return nil, err
		}
	}
	room := v[3] / 100
	return v[0] >= v[1]*(1-room) && v[0] <= v[2]*(1+room), nil
}, new(func(any, any, any) bool), new(func(any, any, any, any) bool))

func number(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case int:
		return float64(v), nil
	}
	return 0, fmt.Errorf("%v is not a number", v)
}

// seen lists the values that an expression looked at, for the reader of a failure.
func seen(p *vm.Program, env map[string]any) string {
	var v leaves
	root := p.Node()
	ast.Walk(&root, &v)
	var out []string
	for _, n := range v.found {
		text := n.String()
		if slices.Contains(v.inner, n) || slices.ContainsFunc(out, func(s string) bool { return strings.HasPrefix(s, text+" = ") }) {
			continue
		}
		if value, err := expr.Eval(text, env); err == nil {
			out = append(out, text+" = "+short(value))
		}
	}
	return strings.Join(out, ", ")
}

// leaves collects names and chains of members; those inside a longer chain, and
// names of functions, are inner.
type leaves struct{ found, inner []ast.Node }

func (v *leaves) Visit(n *ast.Node) {
	switch x := (*n).(type) {
	case *ast.IdentifierNode:
		v.found = append(v.found, x)
	case *ast.MemberNode:
		v.found, v.inner = append(v.found, x), append(v.inner, x.Node)
	case *ast.CallNode:
		v.inner = append(v.inner, x.Callee)
	}
}

func short(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case nil:
		return "null"
	}
	s := fmt.Sprint(v)
	if len(s) > 80 {
		s = s[:77] + "..."
	}
	return s
}

// firstLine is the part of an error of the expression library that says what is wrong.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
