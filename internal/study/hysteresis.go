package study

import (
	"errors"
	"fmt"
	"math"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// Walk is a staircase of load: from From up to To in equal steps, then down again,
// with a rest on each step.
type Walk struct {
	From, To, Step float64       // new requests a second, of all clients together
	Hold           time.Duration // of each rest; whole seconds
}

// maxRests bounds the rests of a walk.
const maxRests = 500

// The walk that is proposed: steps of an eighth of capacity, from two to ten of them,
// each held for ten patiences. What piles up above capacity is worked off on the way
// down, so that a walk much higher would show the backlog of its top and little else.
const (
	walkSteps          = 8
	walkFirst, walkTop = 2, 10
	walkHold           = 10
)

// WalkOf proposes a walk for p: from a quarter of its capacity to one and a quarter
// in eighths, each held for ten patiences.
func WalkOf(p scenario.Plan) Walk {
	step := whole(Capacity(p) / walkSteps)
	hold := max(time.Second, walkHold*p.Recovery.Patience).Round(time.Second)
	return Walk{From: walkFirst * step, To: walkTop * step, Step: step, Hold: hold}
}

func whole(x float64) float64 { return max(1, math.Round(x)) }

// Capacity is what the workers of p can finish a second if nothing is the matter.
func Capacity(p scenario.Plan) float64 {
	mean := p.Backend.ServiceTime.Mean().Seconds()
	if mean <= 0 {
		return 0
	}
	return float64(p.Backend.Workers) / mean
}

// Validate says what is wrong with w.
func (w Walk) Validate() error {
	switch {
	case !(w.From > 0 && w.To > w.From && w.To <= arrival.MaxRate):
		return fmt.Errorf("from %g/s to %g/s: allowed is from above 0, to above from", w.From, w.To)
	case !(w.Step > 0) || w.rests() > maxRests:
		return fmt.Errorf("in steps of %g/s: allowed is above 0, and at most %d rests in all", w.Step, maxRests)
	case w.Hold < time.Second || w.Hold%time.Second != 0:
		return fmt.Errorf("hold %s: allowed are whole seconds", w.Hold)
	}
	return nil
}

func (w Walk) up() int { return int(math.Ceil((w.To-w.From)/w.Step-1e-9)) + 1 }

func (w Walk) rests() float64 { return 2*math.Ceil((w.To-w.From)/w.Step-1e-9) + 1 }

// Loads are the loads of the rests, up and down; the top is there once.
func (w Walk) Loads() []float64 {
	n := w.up()
	loads := make([]float64, 0, 2*n-1)
	for i := range n {
		loads = append(loads, min(w.To, w.From+float64(float64(i)*w.Step)))
	}
	for i := n - 2; i >= 0; i-- {
		loads = append(loads, loads[i])
	}
	return loads
}

// Plan returns p with the load walking instead of p's own phases and faults. The
// clients keep their shares of the load.
func (w Walk) Plan(p scenario.Plan) (scenario.Plan, error) {
	if err := w.Validate(); err != nil {
		return p, err
	}
	total := 0.0
	for _, c := range p.Clients {
		if c.Users > 0 || c.Arrivals.Kind != arrival.Even && c.Arrivals.Kind != arrival.Poisson {
			return p, fmt.Errorf("client %s: a walk sets the rate of arrivals: allowed are open loops with even or poisson arrivals", c.Name)
		}
		total += c.Arrivals.Rate
	}
	loads := w.Loads()
	p.Faults, p.Windows, p.Phases = nil, nil, nil
	p.Horizon, p.Warmup = time.Duration(len(loads))*w.Hold, 0
	p.Clients = append([]scenario.Client(nil), p.Clients...)
	for i := range p.Clients {
		p.Clients[i].Arrivals.From, p.Clients[i].Arrivals.Until = 0, p.Horizon
	}
	for i, load := range loads {
		p.Phases = append(p.Phases, arrival.Phase{
			Name: fmt.Sprintf("%g/s", load), At: time.Duration(i) * w.Hold, For: w.Hold, Factor: load / total,
		})
	}
	p.Recovery.Trigger = p.Trigger()
	return p, nil
}

// Rest is one load of a walk, as it was in the second half of its rest.
type Rest struct {
	Load       float64 `json:"load_per_s"` // asked for
	Up         bool    `json:"up"`
	Requests   float64 `json:"requests_per_s"` // that came
	Offered    float64 `json:"offered_per_s"`
	Throughput float64 `json:"throughput_per_s"`
	Goodput    float64 `json:"goodput_per_s"` // the clients' view
	// Level is goodput over what was asked for, which is never more than the most
	// that the service has finished a second on any rest.
	Level float64 `json:"level"`
	Queue int64   `json:"queue"` // at the end
}

// Hysteresis is what a walk has found: whether what load a service can bear depends
// on where it comes from.
type Hysteresis struct {
	Capacity float64 `json:"capacity_per_s"` // the most that was finished a second on any rest
	Rests    []Rest  `json:"rests"`
	// Collapse is the load at which goodput fell first; nil: it never did.
	Collapse *float64 `json:"collapse_per_s"`
	// Return is the load at which it came back for the last time; nil: it did not.
	Return *float64 `json:"return_per_s"`
}

// Levels at which goodput has fallen, and is back: those of the verdict.
const (
	fallen = 0.80
	back   = 0.95
)

// Read makes the hysteresis of the rows of a run of w.Plan.
func (w Walk) Read(rows ledger.Rows) (Hysteresis, error) {
	loads := w.Loads()
	hold := int(w.Hold / time.Second)
	if len(rows) < len(loads)*hold || rows[0].T != 0 {
		return Hysteresis{}, errors.New("the run ended before the walk did")
	}
	var h Hysteresis
	for i, load := range loads {
		r := restOf(rows[i*hold+hold/2 : (i+1)*hold])
		r.Load, r.Up = load, i < w.up()
		h.Capacity = max(h.Capacity, r.Throughput)
		h.Rests = append(h.Rests, r)
	}
	h.judge()
	return h, nil
}

func restOf(rows ledger.Rows) Rest {
	var r Rest
	for _, row := range rows {
		r.Requests += float64(row.Requests)
		r.Offered += float64(row.Offered)
		r.Throughput += float64(row.Throughput)
		r.Goodput += float64(row.GoodputClient)
	}
	n := float64(len(rows))
	r.Requests, r.Offered, r.Throughput, r.Goodput = r.Requests/n, r.Offered/n, r.Throughput/n, r.Goodput/n
	r.Queue = rows[len(rows)-1].Queue
	return r
}

// judge finds where goodput fell and where it came back.
func (h *Hysteresis) judge() {
	down := false
	for i := range h.Rests {
		r := &h.Rests[i]
		asked := r.Requests
		if h.Capacity > 0 { // else nobody knows what the server finished
			asked = min(asked, h.Capacity)
		}
		if asked == 0 {
			continue
		}
		r.Level = r.Goodput / asked
		switch {
		case !down && r.Level < fallen:
			down, h.Return = true, nil
			if h.Collapse == nil {
				h.Collapse = &r.Load
			}
		case down && r.Level >= back:
			down, h.Return = false, &r.Load
		}
	}
}

// Sentence says it in words.
func (h Hysteresis) Sentence() string {
	first, top := h.Rests[0].Load, 0.0
	for _, r := range h.Rests {
		top = max(top, r.Load)
	}
	switch {
	case h.Collapse == nil:
		return fmt.Sprintf("Goodput held at every load from %g/s to %g/s.", first, top)
	case h.Return == nil:
		return fmt.Sprintf("Goodput collapsed at %g/s and had not returned at %g/s, the lowest load.", *h.Collapse, first)
	case *h.Return >= *h.Collapse:
		return fmt.Sprintf("Goodput collapsed at %g/s and was back at %g/s: no hysteresis.", *h.Collapse, *h.Return)
	}
	return fmt.Sprintf("Goodput collapsed at %g/s and returned at %g/s. Between the two it depends on where the load comes from.", *h.Collapse, *h.Return)
}
