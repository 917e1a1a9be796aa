package queue

import (
	"math/bits"

	"shedload/internal/work"
)

const chunkUnits = 512

// chunk holds units by ascending ID in the slots [lo, hi). A unit that left from
// the middle leaves its slot dead: the ID stays for searching. While the chunk is
// not empty the slots at lo and hi-1 are live. It holds no pointers, so the
// garbage collector does not look inside.
type chunk struct {
	lo, hi, n int // n: live slots
	live      [chunkUnits / 64]uint64
	units     [chunkUnits]work.Unit
}

func (c *chunk) isLive(i int) bool { return c.live[i>>6]>>(i&63)&1 != 0 }

// append adds u at the end; there must be room.
func (c *chunk) append(u *work.Unit) {
	c.units[c.hi] = *u
	c.live[c.hi>>6] |= 1 << (c.hi & 63)
	c.hi++
	c.n++
}

// insert puts u in its place by ID; there must be a slot that is not live. It
// reports false when the ID is there already.
func (c *chunk) insert(u work.Unit) bool {
	c.compact()
	at := c.search(u.ID)
	if at < c.hi && c.units[at].ID == u.ID {
		return false
	}
	c.append(&u) // anything: the slot becomes live
	copy(c.units[at+1:c.hi], c.units[at:c.hi-1])
	c.units[at] = u
	return true
}

// search returns the first slot whose ID is not below id; hi when there is none.
func (c *chunk) search(id uint64) int {
	low, high := c.lo, c.hi
	for low < high {
		if mid := (low + high) / 2; c.units[mid].ID < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// remove makes a live slot dead.
func (c *chunk) remove(slot int) {
	c.live[slot>>6] &^= 1 << (slot & 63)
	c.n--
	switch {
	case c.n == 0:
	case slot == c.lo:
		c.lo = c.nextLive(slot + 1)
	case slot == c.hi-1:
		c.hi = c.lastLive(slot-1) + 1
	}
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
