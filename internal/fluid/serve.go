package fluid

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/work"
)

// batch is members of one cohort that workers began at one instant.
type batch struct {
	over   work.Instant // when they are done
	order  uint64       // of their start, for ties
	took   time.Duration
	n      int64
	cohort *cohort
}

// batches is a heap of them, the first to be done on top.
type batches []batch

func (b batches) Len() int      { return len(b) }
func (b batches) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *batches) Push(x any)   { *b = append(*b, x.(batch)) }
func (b batches) Less(i, j int) bool {
	return b[i].over < b[j].over || b[i].over == b[j].over && b[i].order < b[j].order
}
func (b *batches) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

// cost is the time that a worker spends on u from t on.
func (m *model) cost(u work.Unit, t work.Instant) time.Duration {
	load := service.Load{Queued: int(m.queued), InService: int(m.serving), Workers: m.plan.Backend.Workers}
	return max(1, m.work.Work(service.Job{Class: u.Class, Load: load}, t))
}

// service lets the workers do what they can within the step. They begin and end
// at their own instants, whole batches at a time.
func (m *model) service() {
	end := m.now + m.step
	for t := m.now; ; {
		for t < end && m.begin(t) {
		}
		if len(m.batches) == 0 || m.batches[0].over > end {
			next := m.work.NextChange(t)
			if m.queued == 0 || next >= end {
				return
			}
			t = next // a fault ends, with idle workers waiting for that
			continue
		}
		t = m.batches[0].over
		m.complete()
	}
}

// begin lets idle workers take members of one cohort; false when there are no such
// workers or nothing to take.
func (m *model) begin(t work.Instant) bool {
	idle := int64(m.work.Capacity(m.plan.Backend.Workers, t)) - m.serving
	if idle <= 0 {
		return false
	}
	u, ok := m.queue.Take(t, m.dropped)
	if !ok {
		return false
	}
	c, took := m.cohorts[u.ID], m.cost(u, t)
	n := min(c.queued, idle)
	m.moves++
	m.started++
	heap.Push(&m.batches, batch{over: m.work.End(t, took), order: m.started, took: took, n: n, cohort: c})
	m.record(ledger.Event{Kind: ledger.Started, Unit: c.unit}, n)
	c.serving += n
	m.serving += n
	m.leave(c, n)
	if c.queued > 0 {
		m.queue.Push(u, t, m.dropped) // back to where it stood, by its ID
	}
	return true
}

// complete ends the first batch.
func (m *model) complete() {
	b := heap.Pop(&m.batches).(batch)
	c := b.cohort
	m.moves++
	m.record(ledger.Event{Kind: ledger.Finished, Unit: c.unit, Took: b.took}, b.n)
	c.serving -= b.n
	m.serving -= b.n
	m.perClass[c.class] -= int(b.n)
	if m.now <= c.unit.Deadline {
		m.answer(c, min(b.n, c.n), work.Result{Outcome: work.Succeeded})
	}
	m.forget(c)
}

// sample records the gauges of the rows that end with this step.
func (m *model) sample() {
	const second = work.Instant(time.Second)
	next := min(m.now+m.step, m.end)
	for at := (m.now/second + 1) * second; at <= next; at += second {
		age := time.Duration(0)
		if u, ok := m.queue.Oldest(); ok {
			age = at.Sub(u.Enqueued)
		}
		m.ledger.Record(ledger.Event{Kind: ledger.Sampled, At: at, Took: age, Busy: uint32(m.serving)})
	}
}

// close ends the run as the plan's End says. What is left where it is stays unfinished.
func (m *model) close() {
	m.now = m.end
	if m.plan.End.Queued == scenario.Shed {
		m.queue.Drain(work.Closed, m.dropped)
	}
	if m.plan.End.InService == scenario.Finish {
		for len(m.batches) > 0 {
			m.now = (m.batches[0].over - 1) / m.step * m.step
			m.complete()
		}
		m.now = m.end
	}
	for _, at := range slices.Sorted(maps.Keys(m.ends)) {
		for _, c := range m.ends[at] {
			m.ended(c.crowd, ledger.EndUnfinished)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(m.paused)) {
		for _, r := range m.paused[at] {
			m.ended(r, ledger.EndUnfinished)
		}
	}
}
