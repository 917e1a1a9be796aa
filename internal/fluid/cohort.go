package fluid

import (
	"slices"

	"shedload/internal/admit"
	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// send brings a crowd to the server's door.
func (m *model) send(r crowd) {
	m.moves++
	m.lastID++
	last := r.call.Deadline() / m.step * m.step // the step with which patience ends
	c := &cohort{crowd: r, unit: work.Unit{
		ID: m.lastID, Enqueued: m.now, Deadline: last + m.step - 1, Attempt: uint16(r.call.Attempts()), Class: r.class,
	}}
	m.record(ledger.Event{Kind: ledger.Sent, Unit: c.unit}, r.n)
	m.record(ledger.Event{Kind: ledger.Arrived, Unit: c.unit}, r.n)
	m.cohorts[c.unit.ID] = c
	m.ends[last] = append(m.ends[last], c)
	admitted, v := m.admit(c.unit, r.n)
	if admitted > 0 {
		m.record(ledger.Event{Kind: ledger.Queued, Unit: c.unit}, admitted)
		m.enter(c, admitted)
		m.perClass[c.class] += int(admitted)
		m.queue.Push(c.unit, m.now, m.dropped)
	}
	if refused := r.n - admitted; refused > 0 {
		m.record(ledger.Event{Kind: ledger.Refused, Unit: c.unit, Reason: v.Reason}, refused)
		told := m.told(work.Refused, v.Reason)
		if v.RetryAfter > 0 {
			told.RetryAfter = v.RetryAfter
		}
		told.DoNotRetry = told.DoNotRetry || v.DoNotRetry
		m.answer(c, refused, told)
	}
}

// admit asks the door about the members of a cohort, and returns how many came in
// and what the others were told. Nothing leaves while they arrive, so the first who
// is refused speaks for the rest.
func (m *model) admit(u work.Unit, n int64) (int64, admit.Verdict) {
	door := m.plan.Server.Door
	room := min(n, max(0, int64(m.plan.Server.HardLimit)-m.queued))
	full := admit.Verdict{Reason: work.HardLimit}
	if door.Kind == admit.Open && len(door.And) == 0 {
		return room, full
	}
	load := admit.Load{
		Queued: int(m.queued), InService: int(m.serving), Workers: m.plan.Backend.Workers, Service: m.cost(u, m.now), PerClass: slices.Clone(m.perClass),
	}
	for i := range room {
		if v := m.door.Admit(u, load, m.now); !v.Admitted() {
			return i, v
		}
		load.Queued++
		load.PerClass[u.Class]++
	}
	return room, full
}

func (m *model) told(o work.Outcome, r work.Reason) work.Result {
	return work.Result{Outcome: o, Reason: r, RetryAfter: m.plan.Server.RetryAfter, DoNotRetry: m.plan.Server.DoNotRetry}
}

// dropped is told by the queue of a cohort that it shed.
func (m *model) dropped(u work.Unit, r work.Reason) {
	c, n := m.cohorts[u.ID], m.cohorts[u.ID].queued
	m.moves++
	m.record(ledger.Event{Kind: ledger.Dropped, Unit: u, Reason: r}, n)
	m.perClass[c.class] -= int(n)
	m.leave(c, n)
	if !m.plan.Server.SilentDrops {
		m.answer(c, min(n, c.n), m.told(work.Dropped, r))
	}
}

// enter brings n members of a cohort into the queue.
func (m *model) enter(c *cohort, n int64) {
	c.queued += n
	m.queued += n
}

// leave takes n members of a cohort out of the queue.
func (m *model) leave(c *cohort, n int64) {
	m.enter(c, -n)
	m.forget(c)
}

// forget drops a cohort of which nothing is left.
func (m *model) forget(c *cohort) {
	if c.queued == 0 && c.serving == 0 && c.n == 0 {
		delete(m.cohorts, c.unit.ID)
	}
}

// answer tells n of a cohort's clients how their attempt ended.
func (m *model) answer(c *cohort, n int64, r work.Result) {
	if n == 0 {
		return
	}
	m.moves++
	c.n -= n
	m.record(ledger.Event{
		Kind: ledger.Answered, Unit: c.unit, Outcome: r.Outcome, Reason: r.Reason, Took: m.now.Sub(c.call.Intended()),
	}, n)
	in := retry.Input{Kind: retry.Reply, Result: r}
	if r.Outcome == work.TimedOut {
		in = retry.Input{Kind: retry.Woke}
	}
	m.act(crowd{c.client, c.class, c.call, n}, in)
	m.forget(c)
}

// giveUps ends the patience that ends with this step.
func (m *model) giveUps() {
	over := m.ends[m.now]
	delete(m.ends, m.now)
	for _, c := range over {
		if c.n == 0 {
			continue
		}
		who := m.plan.Clients[c.client.index]
		if c.queued > 0 && m.plan.Server.CancelAbandoned && who.Wait == scenario.WaitClose {
			m.queue.Remove(c.unit.ID)
			m.record(ledger.Event{Kind: ledger.Canceled, Unit: c.unit}, c.queued)
			m.perClass[c.class] -= int(c.queued)
			m.leave(c, c.queued)
		}
		m.answer(c, c.n, work.Result{Outcome: work.TimedOut})
	}
}

func (m *model) ended(r crowd, end ledger.End) {
	if r.n == 0 {
		return
	}
	began := r.call.Began()
	m.record(ledger.Event{
		Kind: ledger.Ended, Start: began, Took: m.now.Sub(began), End: end,
		Unit: work.Unit{Attempt: uint16(r.call.Tries()), Class: r.class},
	}, r.n)
}
