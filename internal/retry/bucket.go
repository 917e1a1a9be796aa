package retry

import (
	"shedload/internal/draw"
	"shedload/internal/work"
)

// bucket is a retry budget of tokens.
type bucket struct {
	charge        Charge
	capacity      Thousandths
	tokens        Thousandths
	floor         Thousandths // a retry needs more than this
	cost          Thousandths // of a retry
	costRefusal   Thousandths // of a retry after a refusal
	perRequest    Thousandths // earned by the first try of a request
	perSuccess    Thousandths // earned by a success
	refund        bool        // a retry that succeeds brings its cost instead
	costOfFailure Thousandths // lost by each attempt that fails
}

func newBucket(g GateSpec) *bucket {
	b := &bucket{charge: *g.Charge, capacity: *g.Capacity, tokens: *g.Initial}
	switch g.Kind {
	case GRPC:
		b.floor, b.perSuccess, b.costOfFailure = b.capacity/2, *g.Earn, One
	case AWS:
		b.cost, b.costRefusal, b.perSuccess, b.refund = 14*One, 5*One, *g.Earn, true
	default:
		b.cost, b.costRefusal, b.perRequest = One, One, *g.Earn
	}
	return b
}

// Allow earns for a first try, and takes the cost of a retry if it is there.
func (b *bucket) Allow(_ work.Instant, a Ask, _ draw.Rand) bool {
	if a.Attempt == 1 {
		b.earn(b.perRequest)
		return true
	}
	if !b.charge.at(a.When) {
		return true
	}
	cost := b.costAfter(a.Cause)
	if b.tokens <= b.floor || b.tokens < b.floor+cost {
		return false
	}
	b.tokens -= cost
	return true
}

// Observe earns for a success, pays for a failure, and takes back what was not used.
func (b *bucket) Observe(_ work.Instant, a Ask, r work.Result) {
	first := a.Attempt == 1
	switch {
	case r.Outcome == 0 && first:
		b.tokens = max(0, b.tokens-b.perRequest)
	case r.Outcome == 0:
		if b.charge.at(a.When) {
			b.earn(b.costAfter(a.Cause))
		}
	case r.Outcome != work.Succeeded:
		b.tokens = max(0, b.tokens-b.costOfFailure)
	case b.refund && !first:
		b.earn(b.costAfter(a.Cause))
	default:
		b.earn(b.perSuccess)
	}
}

func (b *bucket) earn(t Thousandths) { b.tokens = min(b.capacity, b.tokens+t) }

func (b *bucket) costAfter(c Cause) Thousandths {
	if c == Refusal {
		return b.costRefusal
	}
	return b.cost
}

func (b *bucket) gauge(g *Gauges) { g.budget(b.tokens - b.floor) }
