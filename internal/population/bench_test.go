package population

import (
	"testing"

	"shedload/internal/ledger"
	"shedload/internal/retry"
	"shedload/internal/work"
)

// mill is a driver that keeps one attempt and one timer: each request is answered at
// once, or times out and is retried.
type mill struct {
	g     *Group
	a     Attempt
	timer Timer
	at    work.Instant
	n     int64
}

func (m *mill) Send(a Attempt)                   { m.a = a; m.g.Sent(a, a.Intended) }
func (m *mill) Wake(when work.Instant, t Timer)  { m.at, m.timer = when, t }
func (m *mill) record(e ledger.Event)            { m.n += int64(e.Kind) }
func (m *mill) request(now work.Instant, id int) { m.g.Arrive(now, uint64(id), 0) }

func newMill(tb testing.TB, open int, gates ...retry.GateSpec) *mill {
	tb.Helper()
	m := &mill{}
	s := storm()
	s.Gates = gates
	var err error
	if m.g, err = New(s, Identity{Seed: 1}, m, m.record); err != nil {
		tb.Fatal(err)
	}
	for k := range open {
		m.request(0, 1_000_000_000+k)
	}
	return m
}

// cycle is a request that is answered.
func (m *mill) cycle(k int) {
	now := at(int64(k))
	m.request(now, k)
	m.g.Reply(now.Add(20*ms), m.a, ok)
}

// storm is a request whose first attempt times out, and whose second is answered.
func (m *mill) storm(k int) {
	m.request(at(int64(k)), k)
	m.g.Woke(m.at, m.timer)
	m.g.Woke(m.at, m.timer)
	m.g.Reply(m.at, m.a, ok)
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	m := newMill(t, 1000, retry.GateSpec{Kind: retry.TokenBucket}, retry.GateSpec{Kind: retry.AdaptiveThrottle}, retry.GateSpec{Kind: retry.SRE10})
	k := 0
	if n := testing.AllocsPerRun(1000, func() { m.cycle(k); m.storm(k + 1); k += 2 }); n != 0 {
		t.Errorf("%v allocations a request, want none", n)
	}
}

func BenchmarkGroup(b *testing.B) {
	all := []retry.GateSpec{{Kind: retry.TokenBucket}, {Kind: retry.AdaptiveThrottle}, {Kind: retry.CircuitBreaker}}
	for name, c := range map[string]struct {
		gates []retry.GateSpec
		storm bool
	}{"answered": {}, "retried": {storm: true}, "answered/gates": {gates: all}} {
		b.Run(name, func(b *testing.B) {
			m := newMill(b, 10_000, c.gates...)
			b.ReportAllocs()
			for k := 0; b.Loop(); k++ {
				if c.storm {
					m.storm(k)
				} else {
					m.cycle(k)
				}
			}
		})
	}
}
