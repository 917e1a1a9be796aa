package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// trees draws small trees of maps, lists and scalars.
func trees(depth int) *rapid.Generator[*node] {
	return rapid.Custom(func(t *rapid.T) *node {
		k := rapid.SampledFrom([]kind{textKind, numberKind, listKind, mapKind}).Draw(t, "kind")
		if depth == 0 {
			k = textKind
		}
		n := &node{kind: k}
		switch k {
		case mapKind:
			n = objects(depth).Draw(t, "map")
		case listKind:
			n.list = rapid.SliceOfN(trees(depth-1), 0, 3).Draw(t, "items")
		default:
			n.text = rapid.SampledFrom([]string{"1", "2", "x"}).Draw(t, "text")
		}
		return n
	})
}

func objects(depth int) *rapid.Generator[*node] {
	return rapid.Custom(func(t *rapid.T) *node {
		n := &node{kind: mapKind}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "keys") {
			n.keys = append(n.keys, entry{name: name, value: trees(depth-1).Draw(t, "value")})
		}
		return n
	})
}

// sorted is the text of a tree with the keys of its maps in order.
func (n *node) sorted() string {
	c := *n
	c.keys, c.list = slices.Clone(n.keys), nil
	slices.SortFunc(c.keys, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	out := fmt.Sprint(c.kind, c.text)
	for _, e := range c.keys {
		out += "{" + e.name + ":" + e.value.sorted() + "}"
	}
	for _, item := range n.list {
		out += "[" + item.sorted() + "]"
	}
	return out
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := objects(3).Draw(t, "base"), objects(3).Draw(t, "over")
		before := base.sorted() + over.sorted()
		var ps problems
		same := func(what string, a, b *node) {
			if a.sorted() != b.sorted() {
				t.Errorf("%s: %s is not %s", what, a.sorted(), b.sorted())
			}
		}
		empty := &node{kind: mapKind}
		same("nothing over base", ps.merge(base, empty, ""), base)
		same("over on nothing", ps.merge(empty, over, ""), over)
		once := ps.merge(base, over, "")
		if len(ps.list) == 0 { // a map over a list of items without names cannot be laid down
			same("twice", ps.merge(once, over, ""), once)
			wins(t, once, over)
		}
		if base.sorted()+over.sorted() != before {
			t.Error("a merge changed what it merges")
		}
	})
}

// wins checks that each scalar and list of over is in merged where over has it.
func wins(t *rapid.T, merged, over *node) {
	for _, e := range over.keys {
		got := merged.get(e.name)
		switch {
		case got == nil:
			t.Errorf("%s is gone", e.name)
		case e.value.kind == mapKind && got.kind == mapKind:
			wins(t, got, e.value)
		case e.value.kind == mapKind: // laid over a list: nothing in it to name
		case got.sorted() != e.value.sorted():
			t.Errorf("%s is %s, not %s", e.name, got.sorted(), e.value.sorted())
		}
	}
}

func TestVariants(t *testing.T) {
	plans := plansOf(t, mustLoad(t, small))
	busy, fifo, deadline := plans["busy"], plans["fifo"], plans["deadline"]
	switch {
	case busy.Clients[1].Arrivals.Rate != 50 || busy.Clients[0].Arrivals.Rate != 60:
		t.Errorf("busy: a map over the list of clients gave %+v", busy.Clients)
	case len(busy.Phases) != 0 || len(fifo.Phases) != 1:
		t.Errorf("busy: an empty list over a list left %+v", busy.Phases)
	case fifo.Server.DropMargin != nil || deadline.Server.DropMargin == nil:
		t.Error("a variant shows in another one")
	case fifo.Clients[1].Arrivals.Rate != 5:
		t.Error("a variant changed the base")
	}
	text := change(t, "  busy: {clients: {robots: {rate: 50}}", "  busy: {clients: [{name: only, arrivals: even, rate: 1}]")
	if got := plansOf(t, mustLoad(t, text))["busy"].Clients; len(got) != 1 {
		t.Errorf("a list over a list gave %d items", len(got))
	}
}

// Where a variant stands in the file is of no consequence to it, nor what others say.
func TestOrderOfVariantsChangesNothing(t *testing.T) {
	const fifo, deadline, busy = "  fifo: {}\n", "  deadline: {server: {discipline: deadline, drop_margin: 70ms}}\n", "  busy: {clients: {robots: {rate: 50}}, phases: []}\n"
	a := plansOf(t, mustLoad(t, small))
	b := plansOf(t, mustLoad(t, change(t, fifo+deadline+busy, busy+deadline+fifo)))
	for name, p := range a {
		p.expectations = nil // hold compiled programs and places
		q := b[name]
		q.expectations = nil
		if show(p) != show(q) {
			t.Errorf("%s differs:\n%s\n%s", name, show(p), show(q))
		}
	}
}

func show(p Plan) string {
	if p.Server.DropMargin != nil {
		p.About += p.Server.DropMargin.String()
		p.Server.DropMargin = nil
	}
	return fmt.Sprintf("%+v", p)
}

func TestSelect(t *testing.T) {
	s := mustLoad(t, change(t, "variants:", "default: [deadline, fifo]\nvariants:"))
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{nil, "[fifo deadline]"}, // in the order of the file
		{[]string{"*"}, "[fifo deadline busy]"},
		{[]string{"busy", "f*"}, "[fifo busy]"},
		{[]string{"fifi"}, `unknown variant "fifi": did you mean "fifo"? allowed are fifo, deadline, busy`},
		{[]string{"x*"}, `unknown variant "x*": allowed are fifo, deadline, busy`},
	} {
		got, err := s.Select(c.patterns)
		if text := fmt.Sprint(got); text != c.want && (err == nil || err.Error() != c.want) {
			t.Errorf("%v: got %s, %v, want %s", c.patterns, text, err, c.want)
		}
	}
}

func TestNoVariantsIsOne(t *testing.T) {
	s := mustLoad(t, "name: x\nhorizon: 1s\nclients: [{name: a, arrivals: even, rate: 1}]\n")
	if plans, err := s.Plans(nil); err != nil || len(plans) != 1 || plans[0].Variant != Base {
		t.Errorf("got %v, %v", plans, err)
	}
}
