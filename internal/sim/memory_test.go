package sim

import (
	"runtime"
	"testing"

	"shedload/internal/ledger"
	"shedload/test/need"
)

// heapOf returns the bytes that what keep holds on to takes beyond what was there.
func heapOf(make func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	keep := make()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// TestMemoryPerLiveAttempt: at most 150 bytes for an attempt that is queued, is
// waited for, and has a timer. A million of them at once, in front of a server that
// serves next to nothing.
func TestMemoryPerLiveAttempt(t *testing.T) {
	need.NoRace(t)
	for _, c := range []struct{ name, patience, rate string }{{"timers near", "3s", "300000"}, {"timers far", "20s", "100000"}} {
		p := inline(t, `name: memory
horizon: 20s
server: {queue_hard_limit: 10000000}
backend: {workers: 1, service_time: 10s}
clients: [{name: users, arrivals: even, rate: `+c.rate+`, patience: `+c.patience+`}]
`)[0]
		var s *simulation
		bytes := heapOf(func() any {
			var err error
			if s, err = newSimulation(p, func(e ledger.Event) {}); err != nil {
				t.Fatal(err)
			}
			s.end = second * 29 / 10 // before anybody's patience is over
			if c.patience == "20s" {
				s.end = second * 10
			}
			s.begin()
			for s.step() {
			}
			return s
		})
		live := int64(s.groups[0].Len())
		load := s.station.Load()
		if live < 800_000 || int64(load.Queued+load.InService) != live {
			t.Fatalf("%s: %d live attempts, %d queued", c.name, live, load.Queued)
		}
		perAttempt := float64(bytes) / float64(live)
		t.Logf("%s: %d live attempts, %.0f bytes each", c.name, live, perAttempt)
		if perAttempt > 150 {
			t.Errorf("%s: %.0f bytes for each of %d live attempts, at most 150 are allowed", c.name, perAttempt, live)
		}
	}
}
