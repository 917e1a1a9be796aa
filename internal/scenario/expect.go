package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"shedload/internal/ledger"
)

// allVariants is the key of expectations that compare variants with each other.
const allVariants = "all"

// maxExpectations bounds the expressions of a file, since each is compiled for each variant.
const maxExpectations = 500

// expectGroup is one key of expect, expect_sim or expect_live.
type expectGroup struct {
	pattern string // a variant, a pattern, or allVariants
	engine  string // the only engine that it holds for; empty: both
	at      Position
	list    []Expression
	// programs of an allVariants group, and the variants that each one needs.
	programs []*vm.Program
	needs    [][]string
}

func (g expectGroup) texts(variant string) []string {
	if g.pattern == allVariants || !matches(g.pattern, variant) {
		return nil
	}
	var out []string
	for _, e := range g.list {
		out = append(out, e.Text)
	}
	return out
}

// expectation is one compiled expression of a plan.
type expectation struct {
	Expression
	engine  string
	program *vm.Program
}

// Failure is an expectation that a run did not meet.
type Failure struct {
	Scenario, Variant string
	At                Position
	Expect            string
	// Seen says what the run had instead: the values that the expression looked at.
	Seen string
}

// String says it in one line.
func (f Failure) String() string {
	return fmt.Sprintf("%s/%s: expected %s, but %s (%s)", f.Scenario, f.Variant, f.Expect, f.Seen, f.At)
}

// groups lists the expectations of a document in the order of the file.
func groups(ps *problems, doc document, root *node) []expectGroup {
	var out []expectGroup
	count := 0
	for _, part := range []struct {
		key, engine string
		byVariant   map[string][]Expression
	}{{"expect", "", doc.Expect}, {"expect_sim", "sim", doc.ExpectSim}, {"expect_live", "live", doc.ExpectLive}} {
		n := root.get(part.key)
		if n == nil || n.kind != mapKind {
			continue
		}
		for _, e := range n.keys {
			list := part.byVariant[e.name]
			if count += len(list); count > maxExpectations {
				ps.add(e.at, part.key, "are more than %d expectations", maxExpectations)
				return nil
			}
			out = append(out, expectGroup{pattern: e.name, engine: part.engine, at: e.at, list: list})
		}
	}
	return out
}

// compile checks all expressions of the file against the names that each variant's
// summary will have.
func (s *Scenario) compile(plans []Plan) error {
	var ps problems
	every := types.Map{}
	for _, p := range plans {
		every[p.Variant] = summaryShape(p).env()
	}
	for i := range s.expect {
		g := &s.expect[i]
		if g.pattern == allVariants {
			g.compileAll(&ps, every)
		} else if _, err := s.Select([]string{g.pattern}); err != nil {
			ps.add(g.at, "", "%s", err)
		}
	}
	for i := range s.Tables {
		s.Tables[i].compile(&ps, s, plans)
	}
	return ps.err()
}

func (g *expectGroup) compileAll(ps *problems, every types.Map) {
	for _, e := range g.list {
		program, err := e.compile(types.Map{"v": every}, expr.AsBool())
		if err != nil {
			ps.join(e.At, "", err)
			continue
		}
		g.programs = append(g.programs, program)
		g.needs = append(g.needs, variantsOf(program))
	}
}

// expectations compiles what one plan must meet.
func (s *Scenario) expectations(p Plan) ([]expectation, error) {
	var ps problems
	var out []expectation
	env := summaryShape(p).env().(types.Map)
	for _, g := range s.expect {
		if g.pattern == allVariants || !matches(g.pattern, p.Variant) {
			continue
		}
		for _, e := range g.list {
			program, err := e.compile(env, expr.AsBool())
			ps.join(e.At, "", err)
			out = append(out, expectation{e, g.engine, program})
		}
	}
	return out, ps.err()
}

// Check holds a finished run of the plan against its expectations.
func (p Plan) Check(summary ledger.Summary) []Failure {
	var out []Failure
	env := p.summaryEnv(summary)
	for _, e := range p.expectations {
		if e.engine == "" || e.engine == summary.Engine {
			out = append(out, judge(e.program, e.Expression, env, p.Scenario, p.Variant)...)
		}
	}
	return out
}

// CheckAll holds the runs of several variants against the expectations that
// compare them. One that needs a variant which is not among them is left out.
func (s *Scenario) CheckAll(plans []Plan, summaries []ledger.Summary) []Failure {
	v, engine := map[string]any{}, ""
	for i, p := range plans {
		if i < len(summaries) {
			v[p.Variant], engine = p.summaryEnv(summaries[i]), summaries[i].Engine
		}
	}
	var out []Failure
	for _, g := range s.expect {
		for i, program := range g.programs {
			missing := slices.ContainsFunc(g.needs[i], func(name string) bool { return v[name] == nil })
			if !missing && (g.engine == "" || g.engine == engine) {
				out = append(out, judge(program, g.list[i], map[string]any{"v": v}, s.Name, allVariants)...)
			}
		}
	}
	return out
}

func judge(program *vm.Program, e Expression, env map[string]any, scenario, variant string) []Failure {
	f := Failure{Scenario: scenario, Variant: variant, At: e.At, Expect: e.Text}
	got, err := expr.Run(program, env)
	switch {
	case err != nil:
		f.Seen = "it cannot be said: " + firstLine(err)
		if values := seen(program, env); values != "" {
			f.Seen += "; " + values
		}
	case got == true:
		return nil
	default:
		f.Seen = seen(program, env)
	}
	return []Failure{f}
}

// variantsOf lists the variants that an expression over v names.
func variantsOf(p *vm.Program) []string {
	var v leaves
	root := p.Node()
	ast.Walk(&root, &v)
	var out []string
	for _, n := range v.found {
		m, ok := n.(*ast.MemberNode)
		if !ok {
			continue
		}
		id, ok := m.Node.(*ast.IdentifierNode)
		if name, text := m.Property.(*ast.StringNode); ok && text && id.Value == "v" {
			out = append(out, name.Value)
		}
	}
	return out
}

// summaryShape describes the summary of a plan's run as JSON, with short
// names more: verdict and users_verdict, and window, which has the windows by name.
func summaryShape(p Plan) *shape {
	ns := names{classes: p.ClassNames()}
	s := shapeOf(reflect.TypeFor[ledger.Summary](), "", ns)
	s.fields["verdict"], s.fields["users_verdict"] = textShape, textShape
	byName := &shape{fields: map[string]*shape{}}
	for _, w := range p.Windows {
		byName.fields[w.Name] = s.fields["windows"].item
	}
	s.fields["window"] = byName
	return s
}

// summaryEnv turns a summary into what its JSON says.
func (p Plan) summaryEnv(summary ledger.Summary) map[string]any {
	var out map[string]any
	text, err := json.Marshal(summary)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("scenario: a summary is not JSON: %v", err)) // a NaN slipped in
	}
	if r, ok := out["recovery"].(map[string]any); ok {
		out["verdict"], out["users_verdict"] = r["verdict"], r["users_verdict"]
	}
	byName := map[string]any{}
	list, _ := out["windows"].([]any)
	for _, w := range list {
		if m, ok := w.(map[string]any); ok {
			name, _ := m["name"].(string)
			byName[name] = m
		}
	}
	out["window"] = byName
	return summaryShape(p).fill(out).(map[string]any)
}
