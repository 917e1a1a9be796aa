package station

import (
	"maps"
	"slices"

	"shedload/internal/work"
)

// maxRemembered bounds how many lost units are remembered, so that a report that
// comes late is told from one that was never owed.
const maxRemembered = 4096

type lease struct {
	unit  work.Unit
	taken work.Instant
}

type due struct {
	expires work.Instant
	id      uint64
}

// leaseTable holds the units in service. All leases last equally long, so they
// run out in the order in which they were taken; dues of finished units are
// skipped when they come up.
type leaseTable struct {
	held  map[uint64]lease
	dues  []due
	first int // index in dues of the next that may run out

	lostUnits map[uint64]work.Unit
	lostOrder []uint64
}

func newLeaseTable() leaseTable {
	return leaseTable{held: map[uint64]lease{}, lostUnits: map[uint64]work.Unit{}}
}

func (t *leaseTable) add(u work.Unit, now, expires work.Instant) {
	t.held[u.ID] = lease{unit: u, taken: now}
	if expires != work.Never {
		t.dues = append(t.dues, due{expires, u.ID})
	}
}

func (t *leaseTable) remove(id uint64) (lease, bool) {
	l, ok := t.held[id]
	delete(t.held, id)
	return l, ok
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
	l, ok := t.held[id]
	if ok {
		l.unit.Deadline = max(l.unit.Deadline, deadline)
		t.held[id] = l
	}
	return ok
}

// next is when the first lease runs out.
func (t *leaseTable) next() work.Instant {
	for t.first < len(t.dues) {
		if _, held := t.held[t.dues[t.first].id]; held {
			return t.dues[t.first].expires
		}
		t.first++
	}
	t.dues, t.first = t.dues[:0], 0
	return work.Never
}

// expired takes off the first lease that ran out by now.
func (t *leaseTable) expired(now work.Instant) (work.Unit, bool) {
	if t.next() > now {
		return work.Unit{}, false
	}
	if t.first > len(t.dues)/2 {
		t.dues = append(t.dues[:0], t.dues[t.first:]...)
		t.first = 0
	}
	return t.lose(t.dues[t.first].id)
}

// ids returns the units in service in the order of their arrival.
func (t *leaseTable) ids() []uint64 { return slices.Sorted(maps.Keys(t.held)) }
