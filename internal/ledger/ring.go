package ledger

import (
	"time"

	"shedload/internal/work"
)

// ring keeps the newest rows of a run. Gauges are carried: a row opens with those
// of the one before it, and a change that comes late is made in all rows since.
type ring struct {
	slots []Row // row i is in slot i mod len
	first int   // rows [first, next) are kept
	next  int
	cur   *Row         // the newest
	from  work.Instant // its start, for the quick way
	to    work.Instant
	void  Row // takes what is too old to be kept
}

func newRing(n int) ring { return ring{slots: make([]Row, n)} }

func (r *ring) slot(i int) *Row { return &r.slots[i%len(r.slots)] }

// at returns the row that t falls into, opening rows up to it.
func (r *ring) at(t work.Instant) *Row {
	if t >= r.from && t < r.to {
		return r.cur
	}
	i := int(max(t, 0) / second)
	if i >= r.next {
		r.open(i)
		return r.cur
	}
	if i < r.first {
		return &r.void
	}
	return r.slot(i)
}

// past returns the row that t falls into if it is there, else nil.
func (r *ring) past(t work.Instant) *Row {
	if i := int(max(t, 0) / second); i >= r.first && i < r.next {
		return r.slot(i)
	}
	return nil
}

// open opens all rows up to i, which is not open yet.
func (r *ring) open(i int) {
	var before ServerRow
	if r.cur != nil {
		before = gauges(r.cur.ServerRow)
	}
	for n := max(r.next, i-len(r.slots)+1); n <= i; n++ {
		*r.slot(n) = Row{T: n, ServerRow: before}
	}
	r.next = i + 1
	r.first = max(r.first, r.next-len(r.slots))
	r.cur = r.slot(i)
	r.from = work.Instant(i) * second
	r.to = r.from.Add(time.Second)
}

// gauges returns what of a row is carried into the next one.
func gauges(r ServerRow) ServerRow {
	return ServerRow{Queue: r.Queue, InService: r.InService, OldestAge: r.OldestAge, Busy: r.Busy}
}

// since returns the oldest kept row that an event at t touches.
func (r *ring) since(t work.Instant) int { return max(int(max(t, 0)/second), r.first) }

func (r *ring) queue(t work.Instant, by int64) {
	if t >= r.from {
		r.cur.Queue += by
		return
	}
	for i := r.since(t); i < r.next; i++ {
		r.slot(i).Queue += by
	}
}

func (r *ring) service(t work.Instant, by int64) {
	if t >= r.from {
		r.cur.InService += by
		return
	}
	for i := r.since(t); i < r.next; i++ {
		r.slot(i).InService += by
	}
}

// sample sets the gauges that only a driver can tell, in the row that ends at
// e.At, and in later ones up to the next that has its own.
func (r *ring) sample(e *Event) {
	i := int((e.At - 1) / second)
	if e.At <= 0 || i < r.first {
		return
	}
	if i >= r.next {
		r.open(i)
	}
	for n := i; n < r.next && (n == i || !r.slot(n).Sampled); n++ {
		row := r.slot(n)
		row.OldestAge, row.Busy = e.Took, int64(e.Busy)
	}
	r.slot(i).Sampled = true
}

// copy returns the rows from the given one on, oldest first.
func (r *ring) copy(from int) Rows {
	from = max(from, r.first)
	if from >= r.next {
		return nil
	}
	out := make(Rows, 0, r.next-from)
	for i := from; i < r.next; i++ {
		out = append(out, *r.slot(i))
	}
	return out
}

// take puts the server's rows, which start at from, in the place of those that
// are here, and carries their gauges into any later ones.
func (r *ring) take(from int, rows []ServerRow) {
	if len(rows) == 0 {
		return
	}
	last := from + len(rows) - 1
	if last >= r.next {
		r.open(last)
	}
	for i := max(from, r.first); i <= last; i++ {
		r.slot(i).ServerRow = rows[i-from]
	}
	carried := gauges(rows[len(rows)-1])
	for i := max(last+1, r.first); i < r.next; i++ {
		r.slot(i).ServerRow = carried
	}
}
