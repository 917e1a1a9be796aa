package ledger

// The states of a service, live.
const (
	Healthy    = "healthy"
	Overloaded = "overloaded"
	Down       = "collapsed"
	Recovering = "recovering"
)

// StateRows is how many rows a state looks at.
const StateRows = 10

// LiveState is what State goes by.
type LiveState struct {
	// Baseline is the goodput per second of the healthy service; 0 = not known.
	Baseline float64
	// ServerOnly takes the server's view: first attempts for requests, and server
	// goodput for the client's.
	ServerOnly bool
}

// State names what a service is in, from up to StateRows whole rows, the newest.
// It knows of no trigger and of no end, so unlike a verdict it can only say how
// things look. The level is goodput divided by new requests.
//
//   - recovering: it works off a backlog or has just come back. Either goodput is
//     more than 5 % above new requests while retries add to the offered load; or
//     the level is below 80 % as a whole and at 95 % in the newer half; or it is
//     below 80 % and dead work drains: throughput is more than 5 % above the
//     offered load and the queue gets shorter.
//   - healthy: the level is at least 80 %, or nothing is asked for.
//   - collapsed: it is below, and goodput less than half of what the service
//     could do for those who ask: the smaller of new requests and its capacity,
//     which is the baseline, else the throughput, else unlimited.
//   - overloaded: it is below, but what it does is wanted.
func State(rows Rows, c LiveState) string {
	if len(rows) > StateRows {
		rows = rows[len(rows)-StateRows:]
	}
	if len(rows) == 0 {
		return Healthy
	}
	all := c.measure(rows)
	newer := c.measure(rows[len(rows)/2:])
	if all.up(downBelow) {
		if all.good > gainOver*all.requests && all.offered > gainOver*all.requests {
			return Recovering
		}
		return Healthy
	}
	drains := all.finished > gainOver*all.offered && rows[len(rows)-1].Queue < rows[0].Queue
	capacity := all.requests
	switch {
	case c.Baseline > 0:
		capacity = c.Baseline * float64(len(rows))
	case all.finished > 0:
		capacity = all.finished
	}
	switch {
	case newer.up(backAt) || drains:
		return Recovering
	case all.good < halfLevel*min(all.requests, capacity):
		return Down
	}
	return Overloaded
}

// measure is what some rows add up to.
type measure struct{ requests, good, offered, finished float64 }

func (c LiveState) measure(rows Rows) measure {
	var m measure
	for i := range rows {
		r := &rows[i]
		requests, good := r.Requests, r.GoodputClient
		if c.ServerOnly {
			requests, good = r.First, r.Goodput
		}
		m.requests += float64(requests)
		m.good += float64(good)
		m.offered += float64(r.Offered)
		m.finished += float64(r.Throughput)
	}
	return m
}

func (m measure) up(level float64) bool { return m.good >= level*m.requests }

// State returns the state of the service in the StateRows whole seconds before
// second now (see the function State).
func (l *Ledger) State(now int, baseline float64) string {
	rows := l.Rows(now - StateRows)
	for len(rows) > 0 && rows[len(rows)-1].T >= now {
		rows = rows[:len(rows)-1]
	}
	return State(rows, LiveState{Baseline: baseline, ServerOnly: !l.hasClient})
}
