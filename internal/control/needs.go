package control

import (
	"time"

	"shedload/internal/arrival"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// Needs is what a plan takes to run live, at worst: when every attempt runs out
// of patience and is tried again at once.
type Needs struct {
	Length time.Duration
	// Conns is the most connections that are open at once; each of loadgen and
	// apiserver needs as many files.
	Conns int
	// Memory of loadgen, and of apiserver, in bytes.
	LoadgenMemory, APIMemory int64
}

// Memory that an open wait costs, as measured, and the rest of a process.
const (
	loadgenPerWait = 32 << 10
	apiPerWait     = 21 << 10
	perUnit        = 160 // a queued unit with its operation
	process        = 30 << 20
)

// NeedsOf estimates what the plan takes.
func NeedsOf(p scenario.Plan) (Needs, error) {
	n := Needs{Length: p.Horizon}
	units := 0
	for i, c := range p.Clients {
		if c.Users > 0 {
			n.Conns += c.Users
			continue
		}
		s, err := p.Schedule(i)
		if err != nil {
			return n, err
		}
		peak := 0
		for _, open := range openRequests(s, openFor(c), p.Horizon) {
			peak = max(peak, open)
			units += int(float64(open) / c.Patience.Seconds()) // each starts an attempt a patience
		}
		n.Conns += peak
	}
	n.LoadgenMemory = process + int64(n.Conns)*loadgenPerWait
	n.APIMemory = process + int64(n.Conns)*apiPerWait + int64(min(units, p.Server.HardLimit))*perUnit
	return n, nil
}

// openFor is how long a request of c is open if no attempt succeeds.
func openFor(c scenario.Client) time.Duration {
	open := c.Patience * time.Duration(max(1, c.Retry.Attempts))
	if c.RequestDeadline > 0 {
		open = min(open, c.RequestDeadline)
	}
	return max(open, time.Second)
}

// openRequests counts, second by second, the requests that began within the last openFor.
func openRequests(s *arrival.Schedule, openFor, horizon time.Duration) []int {
	arrived := make([]int, int(horizon/time.Second)+1)
	for at, ok := s.Next(); ok && at < work.Instant(horizon); at, ok = s.Next() {
		arrived[at/work.Instant(time.Second)]++
	}
	open := make([]int, len(arrived))
	sum, window := 0, int(openFor/time.Second)
	for t := range arrived {
		sum += arrived[t]
		if t >= window {
			sum -= arrived[t-window]
		}
		open[t] = sum
	}
	return open
}
