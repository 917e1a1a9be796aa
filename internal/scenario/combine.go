package scenario

import "strings"

// Combine returns the plan of several variants laid over each other, in that order,
// and each set over all of them. Its variant is their names, joined by "+".
func (s *Scenario) Combine(variants []string, sets ...string) (Plan, error) {
	nodes := make([]*node, len(variants))
	for i, name := range variants {
		if nodes[i] = s.variants.get(name); nodes[i] == nil {
			return Plan{}, unknownVariant(name, s.Variants)
		}
	}
	overrides, err := parseSets(sets)
	if err != nil {
		return Plan{}, err
	}
	var ps problems
	p := s.resolve(&ps, strings.Join(variants, "+"), nodes, overrides)
	return p, ps.err()
}
