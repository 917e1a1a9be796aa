package scenario

// merge lays over on base: maps merge key by key, anything else is replaced. A map
// over a list of named items (clients, phases, classes, windows) merges into the
// items that it names, so that a variant need not repeat a client to change its
// rate; what it names must exist.
func (ps *problems) merge(base, over *node, path string) *node {
	switch {
	case base != nil && base.kind == mapKind && over.kind == mapKind:
		out := base
		for _, e := range over.keys {
			e.value = ps.merge(base.get(e.name), e.value, join(path, e.name))
			out = out.with(e)
		}
		return out
	case base != nil && base.kind == listKind && over.kind == mapKind:
		return ps.mergeNamed(base, over, path)
	}
	return over
}

func (ps *problems) mergeNamed(base, over *node, path string) *node {
	out := *base
	out.list = append([]*node(nil), base.list...)
	for _, e := range over.keys {
		i := base.named(e.name)
		if i < 0 {
			ps.add(e.at, join(path, e.name), "%s", Unknown("name", e.name, base.names()))
			continue
		}
		out.list[i] = ps.merge(base.list[i], e.value, join(path, e.name))
	}
	return &out
}

// named returns the index of the item of a list that has a name, or -1.
func (n *node) named(name string) int {
	for i, item := range n.list {
		if id := item.get("name"); id != nil && id.text == name {
			return i
		}
	}
	return -1
}

func (n *node) names() []string {
	var out []string
	for _, item := range n.list {
		if id := item.get("name"); id != nil {
			out = append(out, id.text)
		}
	}
	return out
}
