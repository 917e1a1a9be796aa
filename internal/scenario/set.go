package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// override is one --set of a command line: a path into the scenario and a value in YAML.
type override struct {
	flag  string
	path  []string
	value *node
}

// parseSets reads several overrides.
func parseSets(sets []string) ([]override, error) {
	var ps problems
	out := make([]override, len(sets))
	for i, set := range sets {
		o, err := parseSet(set)
		ps.join(Position{}, "", err)
		out[i] = o
	}
	return out, ps.err()
}

// parseSet reads "server.drop_margin=55ms".
func parseSet(set string) (override, error) {
	flag := "--set " + set
	path, text, ok := strings.Cut(set, "=")
	if !ok || path == "" {
		return override{}, Problems{{Position{File: flag}, "", "is written path=value, such as server.drop_margin=55ms"}}
	}
	root, err := parse(flag, []byte("{value: "+text+"}"))
	if err != nil || len(root.keys) != 1 {
		// A value that flow style cannot hold, such as one with a comma, is text.
		root = &node{kind: mapKind, keys: []entry{{name: "value", value: &node{kind: textKind, text: text}}}}
	}
	return override{flag, strings.Split(path, "."), placed(root.keys[0].value, Position{File: flag})}, nil
}

// placed returns a copy of a tree whose every node is at one place.
func placed(n *node, at Position) *node {
	c := *n
	c.at = at
	c.list, c.keys = slices.Clone(n.list), slices.Clone(n.keys)
	for i := range c.list {
		c.list[i] = placed(c.list[i], at)
	}
	for i := range c.keys {
		c.keys[i].at, c.keys[i].value = at, placed(c.keys[i].value, at)
	}
	return &c
}

// apply returns the tree with the override in it. The path is followed through
// the Go type as well as through the tree, because a key may exist without being
// written in this file.
func (o override) apply(root *node, t reflect.Type) (*node, error) {
	return o.step(root, t, 0)
}

func (o override) step(n *node, t reflect.Type, i int) (*node, error) {
	if i == len(o.path) {
		return o.value, nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && n != nil && n.kind == listKind {
		return o.item(n, t, i)
	}
	name := o.path[i]
	var next reflect.Type
	switch {
	case t.Kind() == reflect.Map:
		next = t.Elem()
	case isStruct(t):
		f, ok := fieldNamed(t, name)
		if !ok {
			return nil, o.wrong(i, fieldNames(fields(t)))
		}
		next = f.typ
	default:
		return nil, o.wrong(i, nil)
	}
	if n == nil || n.kind != mapKind {
		n = &node{at: o.value.at, kind: mapKind}
	}
	value, err := o.step(n.get(name), next, i+1)
	if err != nil {
		return nil, err
	}
	return n.with(entry{name, o.value.at, value}), nil
}

// item follows a path into a list, by the name of an item or by its index.
func (o override) item(n *node, t reflect.Type, i int) (*node, error) {
	k := n.named(o.path[i])
	if k < 0 {
		var err error
		if k, err = strconv.Atoi(o.path[i]); err != nil || k < 0 || k >= len(n.list) {
			allowed := n.names()
			for j := range n.list {
				allowed = append(allowed, strconv.Itoa(j))
			}
			return nil, o.wrong(i, allowed)
		}
	}
	value, err := o.step(n.list[k], t.Elem(), i+1)
	if err != nil {
		return nil, err
	}
	out := *n
	out.list = slices.Clone(n.list)
	out.list[k] = value
	return &out, nil
}

func (o override) wrong(i int, known []string) error {
	where := strings.Join(o.path[:i], ".")
	if len(known) == 0 {
		return Problems{{Position{File: o.flag}, "", fmt.Sprintf("%s has nothing inside it", where)}}
	}
	return Problems{{Position{File: o.flag}, where, Unknown("path", o.path[i], known)}}
}
