package queue

import (
	"fmt"
	"slices"

	"shedload/internal/work"
)

// sparse is the number of units below which a chunk looks for a neighbour to share
// with; together they are then at most half full.
const sparse = chunkUnits / 4

// store keeps units in order of arrival, which is the order of their IDs, in
// chunks of 512. Units leave at either end or from the middle.
//
// Chunks make growth cheap (no unit is ever copied to a larger array), give memory
// back as the queue drains, and keep the units of a burst side by side. The
// directory of chunks is small enough to search and to copy: 320 KB for ten
// million units.
type store struct {
	dir   []listing // no chunk in it is empty
	base  []listing // the array that dir is a window of
	n     int
	spare *chunk // one empty chunk is kept, for a queue that sways around a border
}

// listing is a chunk in the directory. The bounds stand beside the pointers so
// that a search does not visit the chunks, which are cold.
type listing struct {
	*chunk
	// from is not above any ID in this chunk, and above every ID in those before.
	from uint64
}

// place is where a unit is, until the next change of the store.
type place struct{ chunk, slot int }

// oldest returns the place of the first unit. The store must not be empty.
func (s *store) oldest() place { return place{0, s.dir[0].lo} }

// newest returns the place of the last unit. The store must not be empty.
func (s *store) newest() place {
	last := len(s.dir) - 1
	return place{last, s.dir[last].hi - 1}
}

func (s *store) at(p place) *work.Unit { return &s.dir[p.chunk].units[p.slot] }

// push adds u: at the end when it arrived last, else (it waited at the door while
// others passed) in its place.
func (s *store) push(u *work.Unit) {
	last := len(s.dir) - 1
	if last >= 0 && u.ID <= s.dir[last].units[s.dir[last].hi-1].ID {
		s.insert(*u)
		return
	}
	switch {
	case last < 0 || s.dir[last].hi == chunkUnits && s.dir[last].n >= sparse:
		s.appendChunk(listing{s.newChunk(), u.ID})
		last++
	case s.dir[last].hi == chunkUnits:
		s.dir[last].compact() // thinned out while it was filled
	}
	s.dir[last].append(u)
	s.n++
}

// insert puts u between units that are already there.
func (s *store) insert(u work.Unit) {
	i := s.chunkOf(u.ID)
	c := s.dir[i].chunk
	if c.n == chunkUnits {
		upper := s.newChunk()
		upper.fill(c.units[chunkUnits/2:])
		c.fill(c.units[:chunkUnits/2])
		s.insertChunk(i+1, listing{upper, upper.units[0].ID})
		if u.ID >= upper.units[0].ID {
			i, c = i+1, upper
		}
	}
	if !c.insert(u) {
		panic(fmt.Sprintf("queue: unit %d is queued already", u.ID))
	}
	s.dir[i].from = min(s.dir[i].from, u.ID)
	s.n++
}

// find returns where the unit with the given ID is.
func (s *store) find(id uint64) (place, bool) {
	if s.n == 0 {
		return place{}, false
	}
	i := s.chunkOf(id)
	c := s.dir[i].chunk
	slot := c.search(id)
	return place{i, slot}, slot < c.hi && c.units[slot].ID == id && c.isLive(slot)
}

// chunkOf returns the chunk that id is in, or would have to be put into.
func (s *store) chunkOf(id uint64) int {
	low, high := 0, len(s.dir)-1
	for low < high {
		if mid := (low + high + 1) / 2; s.dir[mid].from <= id {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// remove takes the unit at p off.
func (s *store) remove(p place) {
	c := s.dir[p.chunk].chunk
	c.remove(p.slot)
	s.n--
	switch {
	case c.n == 0:
		s.removeChunk(p.chunk)
	case c.n < sparse && p.chunk > 0 && p.chunk < len(s.dir)-1:
		s.join(p.chunk)
	}
}

// join merges a sparse chunk with a neighbour, so that a queue that is thinned out
// from the middle gives memory back too. The first and the last chunk need no help.
func (s *store) join(i int) {
	if s.dir[i].n+s.dir[i+1].n > 2*sparse {
		i--
	}
	c, next := s.dir[i].chunk, s.dir[i+1].chunk
	if c.n+next.n > 2*sparse {
		return
	}
	c.compact()
	next.compact()
	copy(c.units[c.n:], next.units[:next.n])
	c.fill(c.units[:c.n+next.n])
	s.removeChunk(i + 1)
}

func (s *store) newChunk() *chunk {
	if c := s.spare; c != nil {
		s.spare = nil
		return c
	}
	return new(chunk)
}

// appendChunk adds to the end of the directory. Chunks that left at the front have
// left room there; it is used again before a larger array is made.
func (s *store) appendChunk(l listing) {
	if n := len(s.dir); n == cap(s.dir) {
		if len(s.base) <= 2*n {
			s.base = make([]listing, max(8, 4*n))
		}
		copy(s.base, s.dir)
		clear(s.base[n:])
		s.dir = s.base[:n]
	}
	s.dir = append(s.dir, l)
}

func (s *store) insertChunk(i int, l listing) {
	s.appendChunk(l)
	copy(s.dir[i+1:], s.dir[i:])
	s.dir[i] = l
}

// removeChunk takes a chunk out of the directory, keeps it when no other is kept,
// and leaves it to the garbage collector otherwise.
func (s *store) removeChunk(i int) {
	c := s.dir[i].chunk
	if i == 0 {
		s.dir[0] = listing{}
		s.dir = s.dir[1:]
	} else {
		s.dir = slices.Delete(s.dir, i, i+1)
	}
	if s.spare == nil {
		c.fill(nil)
		s.spare = c
	}
	if len(s.dir) > 0 {
		return
	}
	const small = 64
	if len(s.base) > small {
		s.base = nil
	}
	s.dir = s.base[:0]
}
