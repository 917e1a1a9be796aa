package client

import "shedload/internal/work"

// due is what a heap orders: something that has an instant.
type due interface{ when() work.Instant }

// heap is a 4-ary heap by instant.
type heap[T due] []T

// next returns the earliest instant; Never when the heap is empty.
func (h heap[T]) next() work.Instant {
	if len(h) == 0 {
		return work.Never
	}
	return h[0].when()
}

func (h *heap[T]) push(t T) {
	s := append(*h, t)
	*h = s
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if s[up].when() <= t.when() {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = t
}

func (h *heap[T]) pop() T {
	s := *h
	first, last := s[0], s[len(s)-1]
	var zero T
	s[len(s)-1] = zero // it may hold pointers
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return first
	}
	i := 0
	for {
		down := 4*i + 1
		if down >= len(s) {
			break
		}
		for c := down + 1; c < min(4*i+5, len(s)); c++ {
			if s[c].when() < s[down].when() {
				down = c
			}
		}
		if s[down].when() >= last.when() {
			break
		}
		s[i] = s[down]
		i = down
	}
	s[i] = last
	return first
}
