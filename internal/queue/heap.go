package queue

// entry stands for a unit in a heap. It may be out of date: the unit may be gone,
// or have another key by now.
type entry struct {
	key int64
	id  uint64
}

// before orders by key, equal keys by arrival.
func (e entry) before(f entry) bool {
	return e.key < f.key || e.key == f.key && e.id < f.id
}

const (
	heapArity = 4
	heapShift = heapArity - 1
	heapChunk = 512
)

// heap is a 4-ary heap of entries in chunks, so that it grows without copying and
// gives memory back, like the store beside it. Three slots in front stay empty: the
// four children of a node then share one cache line, and one chunk.
type heap struct {
	chunks []*[heapChunk]entry
	n      int
}

func (h *heap) at(i int) *entry {
	slot := uint(i + heapShift)
	return &h.chunks[slot/heapChunk][slot%heapChunk]
}

// add puts e at the end without regard to order; heapify restores it.
func (h *heap) add(e entry) {
	if h.n+heapShift >= len(h.chunks)*heapChunk {
		h.chunks = append(h.chunks, new([heapChunk]entry))
	}
	*h.at(h.n) = e
	h.n++
}

func (h *heap) push(e entry) {
	h.add(e)
	i := h.n - 1
	for i > 0 {
		parent := (i - 1) / heapArity
		if !e.before(*h.at(parent)) {
			break
		}
		*h.at(i) = *h.at(parent)
		i = parent
	}
	*h.at(i) = e
}

// pop removes the first entry; there must be one.
func (h *heap) pop() {
	h.n--
	if h.n > 0 {
		*h.at(0) = *h.at(h.n)
		h.down(0)
	}
	// One chunk beyond the last used one is kept.
	if last := len(h.chunks) - 1; last > 0 && h.n+heapShift <= (last-1)*heapChunk {
		h.chunks[last] = nil
		h.chunks = h.chunks[:last]
	}
}

func (h *heap) heapify() {
	if h.n < 2 {
		return
	}
	for i := (h.n - 2) / heapArity; i >= 0; i-- { // from the last parent
		h.down(i)
	}
}

func (h *heap) down(i int) {
	e := *h.at(i)
	for {
		first := heapArity*i + 1
		if first >= h.n {
			break
		}
		least := first
		for child := first + 1; child < min(first+heapArity, h.n); child++ {
			if h.at(child).before(*h.at(least)) {
				least = child
			}
		}
		if !h.at(least).before(e) {
			break
		}
		*h.at(i) = *h.at(least)
		i = least
	}
	*h.at(i) = e
}

// reset empties the heap and keeps no more than one chunk.
func (h *heap) reset() {
	h.n = 0
	if len(h.chunks) > 1 {
		h.chunks = []*[heapChunk]entry{h.chunks[0]}
	}
}
