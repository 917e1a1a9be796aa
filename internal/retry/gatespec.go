package retry

import (
	"fmt"
	"strings"
	"time"
)

// GateSpec describes a gate. Its short text form is the name of a kind. A nil
// parameter takes the kind's default; Resolved shows them.
type GateSpec struct {
	Kind GateKind `json:"kind" yaml:"kind" doc:"throttle, breaker, token_bucket, ratio, sliding_window, concurrency, or a preset: sre10, finagle, envoy, grpc, aws, dotnet"`
	// Charge is when a budget takes its token.
	Charge *Charge `json:"charge,omitempty" yaml:"charge" doc:"a budget takes its token when a retry is sent (send, the default) or scheduled (schedule, the default of finagle, envoy, grpc, aws, dotnet)"`
	// Capacity and Initial are tokens; Initial defaults to Capacity.
	Capacity *Thousandths `json:"capacity,omitempty" yaml:"capacity" doc:"most tokens of a bucket"`
	Initial  *Thousandths `json:"initial,omitempty" yaml:"initial" doc:"tokens at the start; default capacity"`
	// Earn is in tokens: per request in a token bucket, per success in grpc, per
	// success of a first attempt in aws.
	Earn *Thousandths `json:"earn,omitempty" yaml:"earn" doc:"tokens that a request (grpc, aws: a success) brings"`
	// Ratio is retries per request, or per try under way.
	Ratio  *Thousandths   `json:"ratio,omitempty" yaml:"ratio" doc:"retries per request, such as 0.1"`
	Window *time.Duration `json:"window,omitempty" yaml:"window" doc:"how long a request or result counts"`
	// Reserve retries come on top of the ratio, AtLeast ones whatever it says.
	Reserve *int `json:"reserve,omitempty" yaml:"reserve" doc:"retries a window on top of the ratio"`
	AtLeast *int `json:"at_least,omitempty" yaml:"at_least" doc:"retries that are granted whatever the ratio says"`
	// MinRequests is how many requests, or results, it takes to judge.
	MinRequests *int `json:"min_requests,omitempty" yaml:"min_requests" doc:"no judgement below so many requests a window"`
	// K is how many requests per accepted one a throttle still sends.
	K *Thousandths `json:"k,omitempty" yaml:"k" doc:"requests sent per accepted one before the throttle rejects"`
	// FailureRatio opens a breaker, for OpenFor; Probes successes close it again.
	FailureRatio *Thousandths   `json:"failure_ratio,omitempty" yaml:"failure_ratio" doc:"share of failures in a window that opens the breaker"`
	OpenFor      *time.Duration `json:"open_for,omitempty" yaml:"open_for" doc:"how long the breaker stays open before it probes"`
	Probes       *int           `json:"probes,omitempty" yaml:"probes" doc:"tries let through half-open; as many successes close the breaker"`
}

// UnmarshalText reads the short form: the name of a kind.
func (g *GateSpec) UnmarshalText(text []byte) error {
	var k GateKind
	if err := k.UnmarshalText(text); err != nil {
		return err
	}
	*g = GateSpec{Kind: k}
	return nil
}

// Resolved returns g with every parameter of its kind filled in. g is valid.
func (g GateSpec) Resolved() GateSpec {
	d := gateDefaults[g.Kind]
	if g.Initial == nil && g.Capacity != nil {
		g.Initial = g.Capacity
	}
	fill(&g.Charge, d.Charge)
	fill(&g.Capacity, d.Capacity)
	fill(&g.Initial, d.Initial)
	fill(&g.Earn, d.Earn)
	fill(&g.Ratio, d.Ratio)
	fill(&g.Window, d.Window)
	fill(&g.Reserve, d.Reserve)
	fill(&g.AtLeast, d.AtLeast)
	fill(&g.MinRequests, d.MinRequests)
	fill(&g.K, d.K)
	fill(&g.FailureRatio, d.FailureRatio)
	fill(&g.OpenFor, d.OpenFor)
	fill(&g.Probes, d.Probes)
	return g
}

// Scaled returns g, resolved, with all times multiplied by k > 0. Counts stay: a
// window that is k times as long sees as many requests at a k-th of the rate.
func (g GateSpec) Scaled(k float64) GateSpec {
	g = g.Resolved()
	for _, p := range []**time.Duration{&g.Window, &g.OpenFor} {
		if *p != nil {
			*p = new(time.Duration(float64(float64(**p)*k) + 0.5)) // the product rounded first: nothing to fuse
		}
	}
	return g
}

func fill[T any](p **T, def *T) {
	if *p == nil && def != nil {
		*p = new(*def)
	}
}

// parameter is one parameter of a GateSpec with what is allowed.
type parameter struct {
	name         string
	given, known bool // by the spec, by its kind
	fault        string
}

func check[T ~int | ~int64](name string, v, def *T, low, high T) parameter {
	p := parameter{name: name, given: v != nil, known: def != nil}
	if v != nil && (*v < low || *v > high) {
		p.fault = fmt.Sprintf("%v is outside %v to %v", *v, low, high)
	}
	return p
}

// Validate says what is wrong with g, by the names of a scenario file.
func (g GateSpec) Validate() error {
	d, known := gateDefaults[g.Kind]
	if !known {
		return fmt.Errorf("kind: no gate is named: allowed are %s", strings.Join(g.Kind.Allowed(), ", "))
	}
	const most = 1_000_000
	mostInitial := maxThousandths
	if c := g.Resolved().Capacity; c != nil {
		mostInitial = *c
	}
	ps := []parameter{
		{name: "charge", given: g.Charge != nil, known: d.Charge != nil},
		check("capacity", g.Capacity, d.Capacity, 1, maxThousandths),
		check("initial", g.Initial, d.Initial, 0, mostInitial),
		check("earn", g.Earn, d.Earn, 0, maxThousandths),
		check("ratio", g.Ratio, d.Ratio, 0, 1000*One),
		check("window", g.Window, d.Window, time.Millisecond, 24*time.Hour),
		check("reserve", g.Reserve, d.Reserve, 0, most),
		check("at_least", g.AtLeast, d.AtLeast, 0, most),
		check("min_requests", g.MinRequests, d.MinRequests, 0, most),
		check("k", g.K, d.K, One, 1000*One),
		check("failure_ratio", g.FailureRatio, d.FailureRatio, 1, One),
		check("open_for", g.OpenFor, d.OpenFor, time.Millisecond, time.Hour),
		check("probes", g.Probes, d.Probes, 1, most),
	}
	if c := g.Charge; c != nil && *c != ChargeSend && *c != ChargeSchedule {
		ps[0].fault = fmt.Sprintf("unknown %d: allowed are send, schedule", *c)
	}
	for _, p := range ps {
		switch {
		case p.given && !p.known:
			return fmt.Errorf("%s: %s does not have it: allowed are %s", p.name, g.Kind, strings.Join(knownNames(ps), ", "))
		case p.fault != "":
			return fmt.Errorf("%s: %s", p.name, p.fault)
		}
	}
	return nil
}

func knownNames(ps []parameter) []string {
	var names []string
	for _, p := range ps {
		if p.known {
			names = append(names, p.name)
		}
	}
	return names
}

// New builds the gate.
func (g GateSpec) New() (Gate, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g.build(), nil
}

// build builds the gate of a valid spec.
func (g GateSpec) build() Gate {
	r := g.Resolved()
	switch g.Kind {
	case AdaptiveThrottle:
		return newThrottle(r)
	case CircuitBreaker:
		return newBreaker(r)
	case TokenBucket, GRPC, AWS:
		return newBucket(r)
	case Concurrency, Envoy:
		return newConcurrency(r)
	default:
		return newShare(r)
	}
}
