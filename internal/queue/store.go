package queue

import (
	"fmt"
	"math/bits"
	"slices"

	"shedload/internal/work"
)

const (
	chunkUnits = 512
	// sparse is the number of units below which a chunk looks for a neighbour to
	// share with; together they then are at most half full, so that joining is
	// paid for by the removals that made them so.
	sparse = chunkUnits / 4
)

// store keeps units in order of arrival, which is the order of their IDs, in
// chunks of 512. Units leave at either end or from the middle.
//
// Chunks make growth cheap (no unit is ever copied to a larger array), give memory
// back as the queue drains, and keep the units of a burst side by side. The
// directory of chunks is small enough to search and to copy: 160 KB for ten
// million units.
type store struct {
	dir   []*chunk // no chunk in it is empty
	base  []*chunk // the array that dir is a window of
	n     int
	spare *chunk // one empty chunk is kept, for a queue that sways around a border
}

// chunk holds units in the slots [lo, hi). A unit that left from the middle leaves
// its slot dead: the ID stays for searching. The slots at lo and hi-1 are live.
type chunk struct {
	lo, hi, n int
	live      [chunkUnits / 64]uint64
	units     [chunkUnits]work.Unit
}

func (c *chunk) isLive(i int) bool { return c.live[i>>6]>>(i&63)&1 != 0 }

// oldest returns the first unit. The store must not be empty.
func (s *store) oldest() *work.Unit {
	c := s.dir[0]
	return &c.units[c.lo]
}

// newest returns the last unit. The store must not be empty.
func (s *store) newest() *work.Unit {
	c := s.dir[len(s.dir)-1]
	return &c.units[c.hi-1]
}

// push adds u: at the end when it arrived last, else (it waited at the door while
// others passed) in its place.
func (s *store) push(u work.Unit) {
	var c *chunk
	if s.n > 0 {
		c = s.dir[len(s.dir)-1]
		if u.ID <= c.units[c.hi-1].ID {
			s.insert(u)
			return
		}
	}
	if c == nil || c.hi == chunkUnits {
		c = s.newChunk()
		s.appendChunk(c)
	}
	c.units[c.hi] = u
	c.live[c.hi>>6] |= 1 << (c.hi & 63)
	c.hi++
	c.n++
	s.n++
}

// insert puts u between units that are already there.
func (s *store) insert(u work.Unit) {
	i := s.chunkOf(u.ID)
	c := s.dir[i]
	if c.n == chunkUnits {
		upper := s.newChunk()
		upper.fill(c.units[chunkUnits/2:])
		c.fill(c.units[:chunkUnits/2])
		s.insertChunk(i+1, upper)
		if u.ID >= upper.units[0].ID {
			c = upper
		}
	}
	c.compact()
	at := c.search(u.ID)
	if at < c.hi && c.units[at].ID == u.ID {
		panic(fmt.Sprintf("queue: unit %d is queued already", u.ID))
	}
	copy(c.units[at+1:c.hi+1], c.units[at:c.hi])
	c.units[at] = u
	c.live[c.hi>>6] |= 1 << (c.hi & 63)
	c.hi++
	c.n++
	s.n++
}

// find returns where the unit with the given ID is.
func (s *store) find(id uint64) (chunk, slot int, ok bool) {
	if s.n == 0 {
		return 0, 0, false
	}
	chunk = s.chunkOf(id)
	c := s.dir[chunk]
	slot = c.search(id)
	return chunk, slot, slot < c.hi && c.units[slot].ID == id && c.isLive(slot)
}

// chunkOf returns the chunk that id is in, or would have to be put into.
func (s *store) chunkOf(id uint64) int {
	low, high := 0, len(s.dir)-1
	for low < high {
		mid := (low + high + 1) / 2
		if c := s.dir[mid]; c.units[c.lo].ID <= id {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// search returns the first slot whose ID is not below id; hi when there is none.
func (c *chunk) search(id uint64) int {
	low, high := c.lo, c.hi
	for low < high {
		mid := (low + high) / 2
		if c.units[mid].ID < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// removeOldest takes the first unit off.
func (s *store) removeOldest() {
	c := s.dir[0]
	c.clear(c.lo)
	s.n--
	if c.n == 0 {
		s.removeChunk(0)
		return
	}
	c.lo = c.nextLive(c.lo + 1)
}

// removeNewest takes the last unit off.
func (s *store) removeNewest() {
	last := len(s.dir) - 1
	c := s.dir[last]
	c.clear(c.hi - 1)
	s.n--
	if c.n == 0 {
		s.removeChunk(last)
		return
	}
	c.hi = c.lastLive(c.hi-2) + 1
}

// remove takes the unit at a place that find returned.
func (s *store) remove(chunk, slot int) {
	c := s.dir[chunk]
	c.clear(slot)
	s.n--
	if c.n == 0 {
		s.removeChunk(chunk)
		return
	}
	c.lo, c.hi = c.nextLive(c.lo), c.lastLive(c.hi-1)+1
	if c.n < sparse {
		s.join(chunk)
	}
}

func (c *chunk) clear(slot int) {
	c.live[slot>>6] &^= 1 << (slot & 63)
	c.n--
}

// nextLive returns the first live slot from i on; there must be one.
func (c *chunk) nextLive(i int) int {
	word := i >> 6
	if rest := c.live[word] >> (i & 63); rest != 0 {
		return i + bits.TrailingZeros64(rest)
	}
	for word++; c.live[word] == 0; word++ {
	}
	return word<<6 + bits.TrailingZeros64(c.live[word])
}

// lastLive returns the last live slot up to i; there must be one.
func (c *chunk) lastLive(i int) int {
	word := i >> 6
	if rest := c.live[word] << (63 - i&63); rest != 0 {
		return i - bits.LeadingZeros64(rest)
	}
	for word--; c.live[word] == 0; word-- {
	}
	return word<<6 + 63 - bits.LeadingZeros64(c.live[word])
}

// join merges a sparse chunk with a neighbour, so that a queue that is thinned out
// from the middle gives memory back too.
func (s *store) join(chunk int) {
	first := chunk
	if chunk+1 == len(s.dir) || s.dir[chunk].n+s.dir[chunk+1].n > 2*sparse {
		first--
	}
	if first < 0 || s.dir[first].n+s.dir[first+1].n > 2*sparse {
		return
	}
	c, next := s.dir[first], s.dir[first+1]
	c.compact()
	next.compact()
	copy(c.units[c.n:], next.units[:next.n])
	c.fill(c.units[:c.n+next.n])
	s.removeChunk(first + 1)
}

// compact moves the live units to the front.
func (c *chunk) compact() {
	to := 0
	for i := c.lo; i < c.hi; i++ {
		if c.isLive(i) {
			c.units[to] = c.units[i]
			to++
		}
	}
	c.fill(c.units[:to])
}

// fill makes units, all live, the contents.
func (c *chunk) fill(units []work.Unit) {
	n := copy(c.units[:], units)
	c.lo, c.hi, c.n = 0, n, n
	c.live = [chunkUnits / 64]uint64{}
	for word := range n / 64 {
		c.live[word] = ^uint64(0)
	}
	if n%64 != 0 {
		c.live[n/64] = 1<<(n%64) - 1
	}
}

func (s *store) newChunk() *chunk {
	if c := s.spare; c != nil {
		s.spare = nil
		return c
	}
	return new(chunk)
}

// appendChunk adds c to the directory. Chunks that left at the front have left
// room there; it is used again before a larger array is made.
func (s *store) appendChunk(c *chunk) {
	if n := len(s.dir); n == cap(s.dir) {
		if cap(s.base) < 2*n || cap(s.base) == 0 {
			s.base = make([]*chunk, max(8, 2*n))
		}
		base := s.base[:cap(s.base)]
		copy(base, s.dir)
		clear(base[n:])
		s.base, s.dir = base, base[:n]
	}
	s.dir = append(s.dir, c)
}

func (s *store) insertChunk(i int, c *chunk) {
	s.appendChunk(c)
	copy(s.dir[i+1:], s.dir[i:])
	s.dir[i] = c
}

// removeChunk takes a chunk out of the directory, keeps it when no other is kept,
// and leaves it to the garbage collector otherwise.
func (s *store) removeChunk(i int) {
	c := s.dir[i]
	if i == 0 {
		s.dir[0] = nil
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
	if cap(s.base) > small {
		s.base = nil
	}
	s.dir = s.base[:0]
}
