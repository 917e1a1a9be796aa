package population

import "shedload/internal/retry"

// slot is the place of one request under way, or of one thinking user. A timer and
// an attempt name it by index; generation and request number tell whether it still
// holds what they mean.
type slot struct {
	call    retry.Call
	request uint64
	gen     uint32 // of the last timer
	next    uint32 // free slot after this one
	class   uint8
	taken   bool
}

const (
	chunkBits = 10 // 64 KB: whole pages, which large objects are rounded up to
	chunkSize = 1 << chunkBits
	noSlot    = ^uint32(0)
)

// slab holds slots in chunks that never move, so that it grows without copying and
// a pointer to a slot stays good. Free slots are linked; the last freed is the
// first taken.
type slab struct {
	chunks []*[chunkSize]slot
	made   int
	used   int
	head   uint32
}

func newSlab() slab { return slab{head: noSlot} }

// at returns a slot that was made, else nil.
func (b *slab) at(i uint32) *slot {
	if int(i) >= b.made {
		return nil
	}
	return &b.chunks[i>>chunkBits][i&(chunkSize-1)]
}

// take returns a slot to use; its generation goes on from its last use.
func (b *slab) take() (uint32, *slot) {
	b.used++
	i := b.head
	if i == noSlot {
		if b.made == len(b.chunks)*chunkSize {
			b.chunks = append(b.chunks, new([chunkSize]slot))
		}
		i = uint32(b.made)
		b.made++
		s := b.at(i)
		s.taken = true
		return i, s
	}
	s := b.at(i)
	b.head, s.taken = s.next, true
	return i, s
}

// free gives a slot back. Timers that name it are overtaken.
func (b *slab) free(i uint32, s *slot) {
	b.used--
	s.gen++
	s.taken, s.next, b.head = false, b.head, i
}
