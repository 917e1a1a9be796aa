package sim

// heap is a 4-ary heap of events: shallower than a binary one, and the four
// children lie side by side.
type heap []event

const arity = 4

func (h *heap) push(e event) {
	*h = append(*h, e)
	s, i := *h, len(*h)-1
	for i > 0 {
		parent := (i - 1) / arity
		if s[parent].before(&e) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
}

func (h *heap) pop() event {
	s := *h
	first, last := s[0], s[len(s)-1]
	*h = s[:len(s)-1]
	if len(*h) > 0 {
		h.sink(0, last)
	}
	return first
}

// order makes a heap of events in any order.
func (h heap) order() {
	for i := (len(h) - 2) / arity; i >= 0 && len(h) > 1; i-- {
		h.sink(i, h[i])
	}
}

// sink finds the place of e from i downwards.
func (h heap) sink(i int, e event) {
	for {
		child := arity*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+arity, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if e.before(&h[least]) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
