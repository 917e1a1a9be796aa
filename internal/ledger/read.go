package ledger

// Gauges say where the attempts on the server are, right now.
type Gauges struct{ Door, Queued, InService int64 }

// Gauges returns where the attempts are, as far as the events tell; in a ledger
// that merges snapshots, where they were in the last one.
func (l *Ledger) Gauges() Gauges {
	return Gauges{Door: l.place.door, Queued: l.place.queued, InService: l.place.inService}
}

// Pending returns the attempts that arrived and have not ended. It is what
// Gauges add up to.
func (l *Ledger) Pending() int64 { return l.place.door + l.place.queued + l.place.inService }

// PeakQueue returns the longest queue that lasted (see Peak).
func (l *Ledger) PeakQueue() int64 { return max(l.place.peak, l.place.queued) }

// PeakOffered returns the most attempts of a second.
func (l *Ledger) PeakOffered() int64 {
	if l.hasClient {
		return l.peakSent
	}
	return l.peakArrived
}

// Classes returns the number of classes, at least 1.
func (l *Ledger) Classes() int { return len(l.server) }

// ClassTotals returns the totals of class i: a copy of less than a kilobyte, for metrics.
func (l *Ledger) ClassTotals(i int) Totals { return Totals{l.server[i], l.client[i]} }

// Totals returns the totals over all classes.
func (l *Ledger) Totals() Totals {
	var t Totals
	for i := range l.server {
		t.ServerTotals.add(&l.server[i])
		t.ClientTotals.add(&l.client[i])
	}
	return t
}

// Rows returns a copy of the rows from second from on, oldest first. Those older
// than the ring holds are missing; the last one is the current second so far.
func (l *Ledger) Rows(from int) Rows {
	rows := l.rows.copy(from)
	for i := range rows {
		l.offer(&rows[i])
	}
	return rows
}

// Row returns the row of second t, if it is kept.
func (l *Ledger) Row(t int) (Row, bool) {
	if t < l.rows.first || t >= l.rows.next {
		return Row{}, false
	}
	row := *l.rows.slot(t)
	l.offer(&row)
	return row, true
}

// NextRow returns the second after the newest row: no event was seen from it on.
func (l *Ledger) NextRow() int { return l.rows.next }

// offer says what was offered: what was sent, or arrived where no client tells.
func (l *Ledger) offer(row *Row) {
	row.Offered = row.Sent
	if !l.hasClient {
		row.Offered = row.Arrived
	}
}

func (t *ServerTotals) add(o *ServerTotals) {
	t.Arrived += o.Arrived
	t.First += o.First
	t.Carried += o.Carried
	t.Queued += o.Queued
	t.Started += o.Started
	t.OnTime += o.OnTime
	t.Late += o.Late
	t.Failed += o.Failed
	t.Canceled += o.Canceled
	t.Lost += o.Lost
	t.Stale += o.Stale
	t.Work += o.Work
	t.Wasted += o.Wasted
	for i := range t.Refused {
		t.Refused[i] += o.Refused[i]
		t.Dropped[i] += o.Dropped[i]
	}
}

func (t *ClientTotals) add(o *ClientTotals) {
	t.Requests += o.Requests
	t.Sent += o.Sent
	t.SentFirst += o.SentFirst
	t.LateSends += o.LateSends
	t.Missed += o.Missed
	t.Resumed += o.Resumed
	t.Tries += o.Tries
	for i := range t.Answered {
		t.Answered[i] += o.Answered[i]
	}
	for i := range t.Ended {
		t.Ended[i] += o.Ended[i]
	}
}
