package station

import (
	"slices"
	"time"

	"shedload/internal/work"
)

// maxRemembered bounds how many lost units are remembered, so that a report that
// comes late is told from one that was never owed.
const maxRemembered = 4096

// lease is a unit in service, in one cache line. Leases are linked in the order in
// which they were taken; all last equally long, so the first is the first to run out.
type lease struct {
	unit          work.Unit
	taken         work.Instant
	before, after uint32 // slots; after also links the free ones
}

// leaseTable holds the units in service in slots that are used again, and finds
// them by ID. Neither depends on how long a lease lasts.
type leaseTable struct {
	slots []lease // slot 0 is the ends of the list
	free  uint32
	index idTable

	lostUnits map[uint64]work.Unit
	lostOrder []uint64
}

func newLeaseTable() leaseTable {
	return leaseTable{slots: make([]lease, 1), lostUnits: map[uint64]work.Unit{}}
}

func (t *leaseTable) add(u work.Unit, now work.Instant) {
	i := t.free
	if i != 0 {
		t.free = t.slots[i].after
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, lease{})
	}
	ends := &t.slots[0]
	last := ends.before
	t.slots[i] = lease{unit: u, taken: now, before: last}
	t.slots[last].after = i
	ends.before = i
	t.index.put(u.ID, i)
}

func (t *leaseTable) remove(id uint64) (lease, bool) {
	i := t.index.take(id)
	if i == 0 {
		return lease{}, false
	}
	l := t.slots[i]
	t.slots[l.before].after = l.after
	t.slots[l.after].before = l.before
	t.slots[i].after, t.free = t.free, i
	return l, true
}

// lose is remove for a unit that never finished; it is remembered for a while.
func (t *leaseTable) lose(id uint64) (work.Unit, bool) {
	l, ok := t.remove(id)
	if !ok {
		return work.Unit{}, false
	}
	if len(t.lostOrder) == maxRemembered {
		delete(t.lostUnits, t.lostOrder[0])
		t.lostOrder = t.lostOrder[1:]
	}
	t.lostUnits[id] = l.unit
	t.lostOrder = append(t.lostOrder, id)
	return l.unit, true
}

// late returns the lost unit that a report came for after all, once.
func (t *leaseTable) late(id uint64) (work.Unit, bool) {
	u, ok := t.lostUnits[id]
	delete(t.lostUnits, id)
	return u, ok
}

func (t *leaseTable) extend(id uint64, deadline work.Instant) bool {
	i := t.index.get(id)
	if i == 0 {
		return false
	}
	u := &t.slots[i].unit
	u.Deadline = max(u.Deadline, deadline)
	return true
}

// next is when the first lease runs out that may last so long; 0 means for ever.
func (t *leaseTable) next(length time.Duration) work.Instant {
	first := t.slots[0].after
	if first == 0 || length == 0 {
		return work.Never
	}
	return t.slots[first].taken.Add(length)
}

// expired takes off the first lease that ran out by now.
func (t *leaseTable) expired(now work.Instant, length time.Duration) (work.Unit, bool) {
	if t.next(length) > now {
		return work.Unit{}, false
	}
	return t.lose(t.slots[t.slots[0].after].unit.ID)
}

// ids returns the units in service in the order of their arrival.
func (t *leaseTable) ids() []uint64 {
	var out []uint64
	for i := t.slots[0].after; i != 0; i = t.slots[i].after {
		out = append(out, t.slots[i].unit.ID)
	}
	slices.Sort(out)
	return out
}
