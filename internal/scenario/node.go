package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a file, so that a hostile one costs little: it is refused before it is parsed.
const (
	maxBytes = 256 << 10
	maxDepth = 24
	maxKeys  = 500 // of one map, so also variants
	// maxColons bounds the keys of all maps, in whose number the parser is quadratic.
	maxColons = 8000
)

type kind uint8

const (
	nullKind kind = iota
	textKind      // a string, quoted or plain
	numberKind
	boolKind
	listKind
	mapKind
)

var kindNames = [...]string{"nothing", "text", "a number", "true or false", "a list", "a map"}

func (k kind) String() string { return kindNames[k] }

// node is one value of a file with its place. Nodes are never changed once they
// are built; a merge builds new ones and shares what it does not change.
type node struct {
	at   Position
	text string // scalars, as written
	kind kind
	// quoted moves what is inside a text one column to the right.
	quoted bool
	list   []*node
	keys   []entry // maps, in the order of the file
}

type entry struct {
	name  string
	at    Position
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != mapKind {
		return nil
	}
	if i := n.index(name); i >= 0 {
		return n.keys[i].value
	}
	return nil
}

func (n *node) index(name string) int {
	return slices.IndexFunc(n.keys, func(e entry) bool { return e.name == name })
}

// with returns a copy of a map in which one key has another value.
func (n *node) with(e entry) *node {
	c := *n
	c.keys = slices.Clone(n.keys)
	if i := c.index(e.name); i >= 0 {
		c.keys[i] = e
	} else {
		c.keys = append(c.keys, e)
	}
	return &c
}

// without returns a copy of a map that lacks the named keys.
func (n *node) without(names ...string) *node {
	c := *n
	c.keys = slices.DeleteFunc(slices.Clone(n.keys), func(e entry) bool { return slices.Contains(names, e.name) })
	return &c
}

// find follows a path of keys and indices as far as it exists and returns the
// last node reached: the best place to point at.
func (n *node) find(path ...any) *node {
	for _, step := range path {
		var next *node
		switch s := step.(type) {
		case string:
			next = n.get(s)
		case int:
			if n.kind == listKind && s < len(n.list) {
				next = n.list[s]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// parse reads one YAML document into nodes.
func parse(file string, text []byte) (*node, error) {
	start := Position{file, 1, 1}
	if len(text) > maxBytes {
		return nil, Problems{{start, "", fmt.Sprintf("%d bytes: at most %d are read", len(text), maxBytes)}}
	}
	if n := bytes.Count(text, []byte(":")); n > maxColons {
		return nil, Problems{{start, "", fmt.Sprintf("too many keys: at most %d colons are read", maxColons)}}
	}
	if at, deep := tooDeep(file, text); deep {
		return nil, Problems{{at, "", fmt.Sprintf("nested too deeply: at most %d levels", maxDepth)}}
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxProblem(start, err)
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, Problems{{start, "", "a scenario is exactly one YAML document that is not empty"}}
	}
	var b builder
	b.file = file
	root := b.node(f.Docs[0].Body, 0)
	if err := b.err(); err != nil {
		return nil, err
	}
	if root.kind != mapKind {
		return nil, Problems{{root.at, "", fmt.Sprintf("a scenario is a map, not %s", root.kind)}}
	}
	return root, nil
}

// tooDeep bounds nesting before the parser sees the text, because the parser
// recurses. Brackets inside strings count too: a bound does not need to be exact.
func tooDeep(file string, text []byte) (Position, bool) {
	depth := 0
	for i, line := range bytes.Split(text, []byte("\n")) {
		for c, ch := range line {
			switch ch {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			}
			if depth > maxDepth {
				return Position{file, i + 1, c + 1}, true
			}
		}
		indent := len(line) - len(bytes.TrimLeft(line, " \t"))
		if bytes.Count(line, []byte("- "))+bytes.Count(line, []byte("? ")) > 2*maxDepth || indent > 20*maxDepth {
			return Position{file, i + 1, 1}, true
		}
	}
	return Position{}, false
}

func syntaxProblem(start Position, err error) Problems {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return Problems{{start, "", err.Error()}}
	}
	return Problems{{place(start.File, ye.GetToken()), "", ye.GetMessage()}}
}

func place(file string, t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{file, 1, 1}
	}
	return Position{file, t.Position.Line, t.Position.Column}
}

type builder struct {
	problems
	file string
}

func (b *builder) node(n ast.Node, depth int) *node {
	out := &node{at: place(b.file, n.GetToken())}
	if depth > maxDepth {
		b.add(out.at, "", "nested too deeply: at most %d levels", maxDepth)
		return out
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		out.kind, out.text = boolKind, n.Token.Value
	case *ast.IntegerNode:
		out.kind, out.text = numberKind, n.Token.Value
	case *ast.FloatNode:
		out.kind, out.text = numberKind, n.Token.Value
	case *ast.InfinityNode, *ast.NanNode:
		out.kind, out.text = numberKind, n.GetToken().Value
	case *ast.StringNode:
		out.kind, out.text = textKind, n.Value
		out.quoted = n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType
	case *ast.LiteralNode:
		out.kind, out.text = textKind, strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.SequenceNode:
		out.kind = listKind
		for _, v := range n.Values {
			out.list = append(out.list, b.node(v, depth+1))
		}
	case *ast.MappingNode:
		out.kind = mapKind
		b.entries(out, n.Values, depth)
	case *ast.MappingValueNode:
		out.kind = mapKind
		b.entries(out, []*ast.MappingValueNode{n}, depth)
	default:
		b.add(out.at, "", "anchors, aliases, tags and merge keys are not used in scenarios: variants do that")
	}
	return out
}

func (b *builder) entries(out *node, values []*ast.MappingValueNode, depth int) {
	for i, v := range values {
		at := place(b.file, v.Key.GetToken())
		if i == 0 && (at.Line < out.at.Line || at.Line == out.at.Line && at.Column < out.at.Column) {
			out.at = at // a block map's own token is its first colon
		}
		key, ok := keyText(v.Key)
		switch {
		case i == maxKeys:
			b.add(at, "", "too many keys in one map: at most %d are allowed", maxKeys)
			return
		case !ok:
			b.add(at, "", "a key is plain text")
		case out.index(key) >= 0:
			b.add(at, "", "%q is given twice: first at line %d", key, out.keys[out.index(key)].at.Line)
		default:
			out.keys = append(out.keys, entry{key, at, b.node(v.Value, depth+1)})
		}
	}
}

// keyText returns a key as text. Numbers are fine as names of variants.
func keyText(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode:
		return k.GetToken().Value, true
	}
	return "", false
}
