// Package queue is the queue in front of the workers: an order in which units are
// served times sheds that take units off without serving them.
//
// Order and shed look at different ends. A shed judges the oldest arrivals, where
// the dead are; an order picks whichever end or key it likes. Keeping the two
// apart is what lets every order have every shed.
package queue

import (
	"time"

	"shedload/internal/work"
)

// Config says how a queue behaves.
type Config struct {
	Discipline Discipline
	// Margin is the margin of a deadline shed; nil leaves it to the discipline,
	// see Discipline.Margin.
	Margin *Margin
	// CodelTarget and CodelInterval are the parameters of codel and
	// controlled-delay; 0 stands for 5 ms and 100 ms, as in RFC 8289.
	CodelTarget, CodelInterval time.Duration
	// Workers is the number of workers that take from the queue; 0 when unknown.
	Workers int
	// Limit bounds a queue whose discipline has +evict; 0 leaves it to the discipline.
	Limit int
	// Classes are what Unit.Class is an index into, for priority.
	Classes []work.Class
}

const (
	defaultTarget   = 5 * time.Millisecond
	defaultInterval = 100 * time.Millisecond
)

// Queue holds the units that wait for a worker. It is not safe for concurrent
// use. Instants passed to it must not go backwards. A queued unit costs 43 bytes,
// and another 16 under a keyed order; memory is given back as the queue drains.
type Queue struct {
	store    store
	heap     heap // in use when keyed is set
	estimate *estimate

	order     Order
	keyed     Keyed
	sheds     []Shed // asked about the oldest unit
	deadlines []Shed // those of them that judge by the time left: asked about the picked unit too
	auto      bool
	margin    time.Duration // the fixed one
	limit     int           // 0: none
	workers   int
	busySince work.Instant
}

// New returns an empty queue.
func New(c Config) *Queue {
	q := &Queue{estimate: new(estimate)}
	q.Configure(c)
	return q
}

// Configure changes the discipline and its parameters and keeps the units and
// what was learned about service times; CoDel starts anew. A lower limit takes
// effect at the next Push. Takes time in proportion to the queue for a keyed order.
func (q *Queue) Configure(c Config) {
	d := c.Discipline
	m := d.Margin(c.Margin)
	q.order, q.keyed = d.newOrder(c)
	q.auto, q.margin = m.Auto, m.D
	q.limit, q.workers = d.bound(c.Limit), c.Workers
	q.setSheds(d, c)
	q.rebuild()
}

// setSheds puts those that judge by the deadline first, so that a law with a
// memory is not charged with units that were lost anyway.
func (q *Queue) setSheds(d Discipline, c Config) {
	q.sheds = nil
	if d.sheds&shedExpired != 0 {
		q.sheds = append(q.sheds, expired{})
	}
	switch {
	case d.HasDeadline() && q.auto:
		q.sheds = append(q.sheds, autoDoomed{q.estimate})
	case d.HasDeadline():
		q.sheds = append(q.sheds, doomed{q.margin})
	}
	q.deadlines = q.sheds
	target, interval := orDefault(c.CodelTarget, defaultTarget), orDefault(c.CodelInterval, defaultInterval)
	if d.sheds&shedCodel != 0 {
		q.sheds = append(q.sheds, &codel{target: target, interval: interval})
	}
	if d.sheds&shedControlledDelay != 0 {
		q.sheds = append(q.sheds, controlledDelay{target: target, interval: interval})
	}
}

// orDefault returns d, or def when d is not set.
func orDefault(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// SetWorkers tells the number of workers that take from the queue.
func (q *Queue) SetWorkers(n int) { q.workers = n }

// Len returns the number of units queued.
func (q *Queue) Len() int { return q.store.n }

// Oldest returns the unit that arrived first of those queued.
func (q *Queue) Oldest() (work.Unit, bool) {
	if q.store.n == 0 {
		return work.Unit{}, false
	}
	return *q.store.at(q.store.oldest()), true
}

// Push adds u. In a queue that evicts it first makes room by dropping the oldest.
// The ID must not be queued already; a unit with a lower ID than the last one
// (it waited at the door) takes its place by ID.
func (q *Queue) Push(u work.Unit, now work.Instant, dropped Dropped) {
	for q.limit > 0 && q.store.n >= q.limit {
		q.dropOldest(work.Evicted, dropped)
	}
	if q.store.n == 0 {
		q.busySince = now
	}
	q.store.push(&u)
	if q.keyed != nil {
		q.heap.push(entry{q.keyed.Key(u), u.ID})
		q.purge()
	}
}

// Take sheds, then removes and returns the unit to be served next; false when
// none is left. The oldest unit is judged until one is kept. When the order picks
// another one, that is judged too, by its deadline only: a sojourn says something
// about the queue at its old end and nothing elsewhere.
func (q *Queue) Take(now work.Instant, dropped Dropped) (u work.Unit, ok bool) {
	if len(q.sheds) > 0 {
		q.shed(now, dropped)
	}
	for q.store.n > 0 {
		p := q.pick(now)
		u = *q.store.at(p)
		r := work.None
		if len(q.deadlines) > 0 && p != q.store.oldest() {
			r = drop(q.deadlines, u, q.view(), now)
		}
		q.remove(p)
		if r == work.None {
			if q.auto {
				q.estimate.handedOut(now)
			}
			return u, true
		}
		dropped(u, r)
	}
	return work.Unit{}, false
}

// shed drops the oldest unit until one is kept.
func (q *Queue) shed(now work.Instant, dropped Dropped) {
	for q.store.n > 0 {
		u := *q.store.at(q.store.oldest())
		r := drop(q.sheds, u, q.view(), now)
		if r == work.None {
			return
		}
		q.dropOldest(r, dropped)
	}
}

func drop(sheds []Shed, u work.Unit, v View, now work.Instant) work.Reason {
	for _, s := range sheds {
		if r := s.Drop(u, v, now); r != work.None {
			return r
		}
	}
	return work.None
}

func (q *Queue) view() View {
	oldest := q.store.at(q.store.oldest())
	return View{Len: q.store.n, Workers: q.workers, Oldest: oldest.Enqueued, BusySince: q.busySince}
}

// pick returns the place of the unit that the order wants next. The caller removes it.
func (q *Queue) pick(now work.Instant) place {
	if q.keyed == nil {
		if q.order.Next(q.view(), now) == Newest {
			return q.store.newest()
		}
		return q.store.oldest()
	}
	for {
		e := *q.heap.at(0)
		q.heap.pop()
		if p, ok := q.store.find(e.id); ok && q.keyed.Key(*q.store.at(p)) == e.key {
			return p
		}
	}
}

func (q *Queue) remove(p place) {
	q.store.remove(p)
	if q.keyed != nil {
		q.purge()
	}
}

func (q *Queue) dropOldest(r work.Reason, dropped Dropped) {
	p := q.store.oldest()
	u := *q.store.at(p)
	q.remove(p)
	dropped(u, r)
}

// purge builds the heap anew when most of its entries stand for units that are
// gone. It takes as many removals to get there, so a removal pays little for it.
func (q *Queue) purge() {
	if q.heap.n > 2*q.store.n+heapChunk {
		q.rebuild()
	}
}

// rebuild makes the heap stand for exactly the units queued.
func (q *Queue) rebuild() {
	q.heap.reset()
	if q.keyed == nil {
		return
	}
	for _, c := range q.store.dir {
		for i := c.lo; i < c.hi; i++ {
			if c.isLive(i) {
				q.heap.add(entry{q.keyed.Key(c.units[i]), c.units[i].ID})
			}
		}
	}
	q.heap.heapify()
}

// Remove takes the unit with the given ID off the queue, unless it is not there.
func (q *Queue) Remove(id uint64) (work.Unit, bool) {
	p, ok := q.store.find(id)
	if !ok {
		return work.Unit{}, false
	}
	u := *q.store.at(p)
	q.remove(p)
	return u, true
}

// Extend moves the deadline of a queued unit to d, unless it is later already. It
// reports whether the unit is queued.
func (q *Queue) Extend(id uint64, d work.Instant) bool {
	p, ok := q.store.find(id)
	if !ok {
		return false
	}
	u := q.store.at(p)
	if d <= u.Deadline {
		return true
	}
	u.Deadline = d
	if q.keyed != nil {
		// The entry with the old key is passed over when its turn comes.
		q.heap.push(entry{q.keyed.Key(*u), id})
		q.purge()
	}
	return true
}

// Observe takes in the service time of a unit that finished at now: what the
// automatic margin learns from, whether or not it is in force.
func (q *Queue) Observe(service time.Duration, now work.Instant) { q.estimate.observe(service, now) }

// Margin returns how much time before its deadline u would be dropped at now; 0
// without a deadline shed, and while the automatic margin stands back.
func (q *Queue) Margin(u work.Unit, now work.Instant) time.Duration {
	if q.auto {
		return q.estimate.forUnit(u, now)
	}
	return q.margin
}

// Drain drops everything, oldest first.
func (q *Queue) Drain(r work.Reason, dropped Dropped) {
	for q.store.n > 0 {
		q.dropOldest(r, dropped)
	}
}
