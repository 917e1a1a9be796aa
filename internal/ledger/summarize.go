package ledger

import (
	"time"

	"shedload/internal/work"
)

// Summary returns the run in numbers, with its verdict. It opens the rows up to
// the horizon, so call it when the run is over.
func (l *Ledger) Summary(m Meta) Summary {
	if last := int((m.Horizon+time.Second-1)/time.Second) - 1; last >= l.rows.next {
		l.rows.open(last)
	}
	t := l.Totals()
	a := attempts(&t, m.ClientOnly)
	s := Summary{
		Scenario: m.Scenario, Variant: m.Variant, Engine: m.Engine, Partial: m.Partial, View: "both",
		HorizonS: m.Horizon.Seconds(), WarmupS: m.Warmup.Seconds(),
		Requests: requests(&t), Attempts: a, Resumes: t.Resumed, ClientErrors: clientErrors(&t, m.ClientErrors),
		Throughput: t.Finished(), Goodput: t.OnTime, GoodputClient: t.Answered[work.Succeeded],
		GoodputShare: ratio(t.OnTime, t.Finished()), Amplification: ratio(a.Total, t.Requests),
		WorkS: t.Work.Seconds(), WastedWorkS: t.Wasted.Seconds(), WastedShare: ratio(t.Wasted, t.Work),
		Peak: Peak{Queue: l.PeakQueue(), OfferedPerS: l.PeakOffered()},
		LatencyMS: Latencies{
			Served: l.served.Quantiles(), ShedWait: l.shed.Quantiles(), ToldNo: l.toldNo.Quantiles(), Request: l.request.Quantiles(),
		},
		Classes: map[string]ClassSummary{}, Windows: []Window{},
		Generator: l.generator(&t), Conservation: l.conservation(&t, m),
	}
	if m.ClientOnly {
		s.View = "client"
	}
	if m.Horizon > 0 {
		s.ThroughputPS = float64(s.Throughput) / s.HorizonS
		s.GoodputPS = float64(s.Goodput) / s.HorizonS
		s.GoodputClPS = float64(s.GoodputClient) / s.HorizonS
	}
	for i, name := range l.config.Classes {
		ct := l.ClassTotals(i)
		s.Classes[name] = ClassSummary{Requests: requests(&ct), Attempts: attempts(&ct, m.ClientOnly)}
	}
	for i := range l.windows {
		s.Windows = append(s.Windows, l.windows[i].summary(l.config.Classes))
	}
	v := m.Verdict
	v.NoServer = v.NoServer || m.ClientOnly
	s.Recovery = Judge(l.Rows(0), v)
	return s
}

func requests(t *Totals) Requests {
	return Requests{
		Total: t.Requests, Succeeded: t.Ended[EndSucceeded],
		GaveUp: t.Ended[EndGaveUpAttempts] + t.Ended[EndGaveUpGate], GaveUpGate: t.Ended[EndGaveUpGate],
		Throttled: t.Ended[EndThrottled], Unfinished: t.ClientTotals.Unfinished(),
	}
}

func attempts(t *Totals, clientOnly bool) Attempts {
	a := Attempts{
		Total: t.Arrived, OnTime: t.OnTime, Late: t.Late, Failed: t.Failed, Canceled: t.Canceled, Lost: t.Lost,
		Unfinished: t.ServerTotals.Pending(), RefusedTotal: t.Refused.Sum(), DroppedTotal: t.Dropped.Sum(),
		Refused: map[string]int64{}, Dropped: map[string]int64{},
	}
	for r := work.None; r < work.NumReasons; r++ {
		if r.Refusal() || t.Refused[r] > 0 {
			a.Refused[r.String()] = t.Refused[r]
		}
		if r.Drop() || t.Dropped[r] > 0 {
			a.Dropped[r.String()] = t.Dropped[r]
		}
	}
	if clientOnly {
		c := &t.Answered
		a.Total, a.OnTime, a.Failed = t.Sent, c[work.Succeeded], c[work.Failed]+c[work.ClientError]
		a.RefusedTotal, a.DroppedTotal = c[work.Refused], c[work.Dropped]
		a.Unfinished = a.Total - a.OnTime - a.Failed - a.RefusedTotal - a.DroppedTotal
	}
	return a
}

func clientErrors(t *Totals, named map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for name, n := range named {
		out[name] = n
	}
	if n := t.Answered[work.ClientError]; n > 0 && len(named) == 0 {
		out["unnamed"] = n
	}
	return out
}

// generator judges the load: law 9 of the design.
func (l *Ledger) generator(t *Totals) Generator {
	g := Generator{LatenessMS: l.lateness.Quantiles(), Sends: t.Sent + t.Missed, Missed: t.LateSends + t.Missed}
	g.Delivered = float64(g.Missed) <= MissedShare*float64(g.Sends)
	return g
}

// conservation checks that every attempt and request is accounted for: the sums
// over ends against the places that events moved units between, against the
// driver's own count, and the server's against the clients'.
func (l *Ledger) conservation(t *Totals, m Meta) Conservation {
	c := Conservation{InFlight: m.InFlight, Pending: l.Pending(), Held: -1}
	held := m.Held
	if held == nil {
		held = l.held
	}
	c.OK = l.place.door >= 0 && l.place.queued >= 0 && l.place.inService >= 0 && t.ClientTotals.Unfinished() >= 0 &&
		t.ServerTotals.Pending() == c.Pending
	if held != nil {
		c.Held = *held
		c.OK = c.OK && c.Held == c.Pending
	}
	if l.hasClient && !m.ClientOnly {
		c.ClientServerGap = gap(t)
		c.OK = c.OK && c.ClientServerGap <= m.InFlight
	}
	return c
}

// gap counts the attempts about which client and server disagree. One whose
// client saw an error may have reached the server or not: both agree.
func gap(t *Totals) int64 {
	most := t.Sent
	least := most - t.Answered[work.ClientError]
	arrived := t.Arrived - t.Carried
	return max(least-arrived, arrived-most, 0)
}
