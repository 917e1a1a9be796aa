package station

import "math/bits"

// idTable maps IDs to slots: a hash table with linear probing, kept at most half
// full, whose entries lie side by side. Slot 0 stands for nothing, so a free entry
// needs no mark of its own.
type idTable struct {
	entries []idEntry // a power of two of them
	n       int
}

type idEntry struct {
	id   uint64
	slot uint32
}

// home is where an ID would like to be (Fibonacci hashing).
func (t *idTable) home(id uint64) int {
	return int(id * 0x9e3779b97f4a7c15 >> (64 - bits.Len(uint(len(t.entries)-1))))
}

// find returns the entry of id, or the free one in which it would be put.
func (t *idTable) find(id uint64) int {
	i := t.home(id)
	for t.entries[i].slot != 0 && t.entries[i].id != id {
		i = (i + 1) & (len(t.entries) - 1)
	}
	return i
}

// get returns the slot of id; 0 if it is not there.
func (t *idTable) get(id uint64) uint32 {
	if t.n == 0 {
		return 0
	}
	return t.entries[t.find(id)].slot
}

func (t *idTable) put(id uint64, slot uint32) {
	if 2*t.n >= len(t.entries) {
		old := t.entries
		t.entries = make([]idEntry, max(16, 2*len(old)))
		for _, e := range old {
			if e.slot != 0 {
				t.entries[t.find(e.id)] = e
			}
		}
	}
	t.entries[t.find(id)] = idEntry{id, slot}
	t.n++
}

// take removes id and returns its slot; 0 if it is not there.
func (t *idTable) take(id uint64) uint32 {
	if t.n == 0 {
		return 0
	}
	i := t.find(id)
	slot := t.entries[i].slot
	if slot == 0 {
		return 0
	}
	// What was pushed away from its home by this entry moves up.
	mask := len(t.entries) - 1
	for j := (i + 1) & mask; t.entries[j].slot != 0; j = (j + 1) & mask {
		if (j-t.home(t.entries[j].id))&mask >= (j-i)&mask {
			t.entries[i] = t.entries[j]
			i = j
		}
	}
	t.entries[i] = idEntry{}
	t.n--
	return slot
}
