package scenario

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/service"
)

// experiment is what a variant can change: all of a Plan that is written in a file.
type experiment struct {
	Name      string               `yaml:"name" doc:"the scenario's name"`
	About     string               `yaml:"about" doc:"what it shows, in a sentence or two"`
	Seed      uint64               `yaml:"seed" doc:"all randomness follows from it"`
	Horizon   time.Duration        `yaml:"horizon" doc:"length of the run"`
	Warmup    time.Duration        `yaml:"warmup" doc:"not counted in steady-state figures"`
	TimeScale float64              `yaml:"time_scale" doc:"multiplies all times and divides all rates"`
	Server    Server               `yaml:"server" doc:"the door and the queue"`
	Backend   Backend              `yaml:"backend" doc:"the workers"`
	Clients   []Client             `yaml:"clients" doc:"groups of users that behave alike"`
	Phases    []arrival.Phase      `yaml:"phases" doc:"when the load changes"`
	Faults    []service.Fault      `yaml:"faults" doc:"when capacity changes"`
	Classes   []Class              `yaml:"classes" doc:"kinds of requests; the first one that matches takes a request"`
	End       End                  `yaml:"end" doc:"what becomes of work that the end finds"`
	Model     Model                `yaml:"model" doc:"rules of virtual time that real processes do not have"`
	Recovery  ledger.VerdictConfig `yaml:"recovery" doc:"numbers of the verdict"`
	Windows   []Window             `yaml:"windows" doc:"requests by the time of their first attempt"`
	Live      Live                 `yaml:"live" doc:"run, or: skip, because REASON"`
}

func (e *experiment) defaults() {
	e.Seed, e.TimeScale = 1, 1
	e.Server.defaults()
	e.Backend.defaults()
	e.End.defaults()
}

// document is a scenario file.
type document struct {
	experiment `yaml:",inline"`
	Variants   map[string]experiment   `yaml:"variants" doc:"changes to the above, by name; a map over a list of named items changes those items"`
	Default    []string                `yaml:"default" doc:"variants that run when none is named; absent: all"`
	Expect     map[string][]Expression `yaml:"expect" doc:"what must come out, by variant; margin-* for several, all for expressions over v.VARIANT"`
	ExpectSim  map[string][]Expression `yaml:"expect_sim" doc:"the same, of virtual time only"`
	ExpectLive map[string][]Expression `yaml:"expect_live" doc:"the same, of real processes only"`
	Tables     []Table                 `yaml:"tables" doc:"tables of a published experiment, as CSV"`
}

// metaKeys are the keys of a document that are not part of an experiment.
var metaKeys = []string{"variants", "default", "expect", "expect_sim", "expect_live", "tables"}

// Scenario is a file that was read and found right. It does not change.
type Scenario struct {
	Name, About string
	// Variants are the names of the variants, in the order of the file.
	Variants []string
	// Default are those that run when none is selected.
	Default []string
	// Tables are the tables of the published experiment.
	Tables []Table

	base     *node
	variants *node
	expect   []expectGroup
	file     string
	open     func(string) ([]byte, error)
}

// Base is the name of the only variant of a file that has none.
const Base = "base"

// Load reads a scenario: the file of that name, through open, which is also asked
// for the traces that it names. All variants are checked; the error is Problems
// unless open failed.
func Load(name string, open func(string) ([]byte, error)) (*Scenario, error) {
	text, err := open(name)
	if err != nil {
		return nil, err
	}
	s := &Scenario{file: name, open: open}
	if path.Ext(name) == "" {
		s.file += ".yaml"
	}
	root, err := parse(s.file, text)
	if err != nil {
		return nil, err
	}
	var ps problems
	if ps.join(Position{}, "", s.read(root)); s.base == nil {
		return nil, ps.err()
	}
	plans, err := s.Plans([]string{"*"})
	if ps.join(Position{}, "", err); len(ps.list) > 0 {
		return nil, ps.err()
	}
	if err := s.compile(plans); err != nil {
		return nil, err
	}
	return s, nil
}

// read decodes what is around the experiment and keeps the rest for the variants.
// Without a base afterwards, there is nothing to go on with.
func (s *Scenario) read(root *node) error {
	var ps problems
	s.variants = root.get("variants")
	if s.variants == nil {
		s.variants = &node{at: root.at, kind: mapKind, keys: []entry{{Base, root.at, &node{at: root.at, kind: mapKind}}}}
	}
	if s.variants.kind != mapKind || len(s.variants.keys) == 0 {
		ps.add(s.variants.at, "variants", "is %s: allowed is a map of names to changes, at least one", s.variants)
		return ps.err()
	}
	s.base = root.without(metaKeys...)
	for i, e := range s.variants.keys {
		switch {
		case !validName(e.name) || e.name == "all":
			ps.add(e.at, "variants", "%q is not a name: allowed are lower-case letters, digits and .+-_ after the first, and not the word all", e.name)
		case e.value.kind == nullKind:
			s.variants.keys[i].value = &node{at: e.at, kind: mapKind}
		}
		for _, key := range e.value.keys {
			if key.name == "name" || slices.Contains(metaKeys, key.name) {
				ps.add(key.at, join("variants."+e.name, key.name), "does not belong in a variant")
			}
		}
		s.Variants = append(s.Variants, e.name)
	}
	doc := document{}
	d := decoder{}
	d.value(root.without("variants"), "", reflect.ValueOf(&doc).Elem())
	ps.list = append(ps.list, d.list...)
	s.Name, s.About, s.Default, s.Tables = doc.Name, doc.About, doc.Default, doc.Tables
	if len(s.Default) == 0 {
		s.Default = s.Variants
	}
	if _, err := s.Select(s.Default); err != nil {
		ps.add(root.find("default").at, "default", "%s", err)
	}
	s.expect = groups(&ps, doc, root)
	return ps.err()
}

// validName keeps names of variants usable in file names and paths.
func validName(name string) bool {
	const first, rest = "abcdefghijklmnopqrstuvwxyz0123456789", ".+-_"
	for i, r := range name {
		if !strings.ContainsRune(first, r) && (i == 0 || !strings.ContainsRune(rest, r)) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// Select returns the names of the variants that match, in the order of the file.
// A pattern is a name or has * in it; no pattern selects the default ones.
func (s *Scenario) Select(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		patterns = s.Default
	}
	picked := map[string]bool{}
	for _, p := range patterns {
		found := false
		for _, name := range s.Variants {
			if matches(p, name) {
				picked[name], found = true, true
			}
		}
		if !found {
			return nil, unknownVariant(p, s.Variants)
		}
	}
	var out []string
	for _, name := range s.Variants {
		if picked[name] {
			out = append(out, name)
		}
	}
	return out, nil
}

func unknownVariant(name string, known []string) error {
	return errors.New(Unknown("variant", name, known))
}

// matches reports whether a name is, or fits, a pattern.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// Plans returns the plans of the selected variants (see Select), in the order of
// the file. Each set is an override as on the command line, "server.drop_margin=55ms"
// or "seed=7", laid over every variant.
func (s *Scenario) Plans(selection []string, sets ...string) ([]Plan, error) {
	selected, err := s.Select(selection)
	if err != nil {
		return nil, err
	}
	overrides, err := parseSets(sets)
	if err != nil {
		return nil, err
	}
	var ps problems
	plans := make([]Plan, 0, len(selected))
	for _, name := range selected {
		plans = append(plans, s.plan(&ps, name, overrides))
	}
	return plans, ps.err()
}

// plan resolves one variant. A problem with an override names the variant, which the
// override itself does not.
func (s *Scenario) plan(ps *problems, name string, overrides []override) Plan {
	at := len(ps.list)
	p := s.resolve(ps, name, []*node{s.variants.get(name)}, overrides)
	for i := at; i < len(ps.list); i++ {
		if len(s.Variants) > 1 && ps.list[i].Line == 0 {
			ps.list[i].Message += ", in variant " + name
		}
	}
	return p
}

// resolve lays variants, then overrides, over the base, and makes a plan of it.
func (s *Scenario) resolve(ps *problems, name string, variants []*node, overrides []override) Plan {
	at, root := len(ps.list), s.base
	for _, v := range variants {
		root = ps.merge(root, v, "")
	}
	for _, o := range overrides {
		next, err := o.apply(root, reflect.TypeFor[experiment]())
		if err != nil {
			ps.join(Position{}, "", err)
			continue
		}
		root = next
	}
	var e experiment
	d := decoder{}
	d.value(root, "", reflect.ValueOf(&e).Elem())
	ps.list = append(ps.list, d.list...)
	if len(ps.list) > at {
		return Plan{} // what was not understood cannot be checked
	}
	s.traces(ps, root, &e)
	c := checker{problems: ps, root: root, e: &e}
	c.check()
	if len(ps.list) > at {
		return Plan{}
	}
	p := e.plan(name)
	for _, g := range s.expect {
		p.Expect = append(p.Expect, g.texts(name)...)
	}
	var err error
	p.expectations, err = s.expectations(p)
	ps.join(Position{}, "", err)
	return p.scaled(e.TimeScale)
}

// traces reads the recorded arrivals that clients name.
func (s *Scenario) traces(ps *problems, root *node, e *experiment) {
	for i, c := range e.Clients {
		if c.Trace == "" {
			continue
		}
		at := root.find("clients", i, "trace").at
		name := c.Trace
		if dir := filepath.Dir(s.file); dir != "." {
			name = filepath.Join(dir, name)
		}
		text, err := s.open(name)
		if err != nil {
			ps.add(at, fmt.Sprintf("clients[%d].trace", i), "%s", err)
			continue
		}
		if e.Clients[i].Arrivals.Trace, err = parseTrace(text); err != nil {
			ps.add(at, fmt.Sprintf("clients[%d].trace", i), "%s: %s", name, err)
		}
	}
}
