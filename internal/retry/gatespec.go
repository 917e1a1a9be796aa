package retry

import (
	"fmt"
	"strings"
	"time"
)

// GateKind names a gate: a mechanism with parameters of its own, or a preset that
// fills them in as a well-known client does.
type GateKind uint8

// The gates.
const (
	// AdaptiveThrottle rejects tries as likely as the server does: K, Window.
	// Beyer et al., "Site Reliability Engineering", chapter 21, "Client-Side Throttling".
	AdaptiveThrottle GateKind = iota + 1
	// CircuitBreaker stops all tries after too many failures: FailureRatio,
	// MinRequests, Window, OpenFor, Probes. The defaults are those of Netflix Hystrix.
	CircuitBreaker
	// TokenBucket grants a retry for a token: Capacity, Initial, Earn (a request).
	TokenBucket
	// Ratio grants retries up to Ratio of all requests so far, and AtLeast.
	Ratio
	// SlidingWindow grants retries up to Reserve + Ratio of the requests of the
	// last Window, at least AtLeast; without limit below MinRequests.
	SlidingWindow
	// Concurrency grants retries up to Ratio of the tries under way, at least AtLeast.
	Concurrency
	// SRE10 grants retries up to 10 % of requests, as "Site Reliability
	// Engineering", chapter 21, "Deciding to Retry". The book names no window; this
	// uses the two minutes of the same chapter's throttle. (Its other half, at most
	// three attempts a request, is Spec.Attempts.)
	SRE10
	// Finagle grants 20 % of the requests of the last 10 s on top of 10 retries a
	// second: com.twitter.finagle.service.RetryBudget.
	Finagle
	// Envoy grants concurrent retries up to 20 % of the tries under way, at least
	// 3; a retry counts from the start of its backoff:
	// envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget.
	Envoy
	// GRPC grants retries while more than half of Capacity is there; a failed
	// attempt takes a token, a success brings Earn: gRFC A6 with the values of its
	// example, 10 and 0.1.
	GRPC
	// AWS starts with 500 tokens; a retry takes 5 after a refusal and 14 otherwise,
	// and brings them back when it succeeds; a first attempt that succeeds brings
	// 1: standard retry mode of the AWS SDKs, as revised in 2026 ("Retry behavior",
	// AWS SDKs and Tools Reference Guide).
	AWS
	// Dotnet grants retries up to 10 % of the requests of the last 10 s, at least
	// one, without limit below 10 requests:
	// Microsoft.Extensions.Http.Resilience.HttpRetryBudgetOptions.
	Dotnet
)

var gateNames = []string{
	"", "throttle", "breaker", "token_bucket", "ratio", "sliding_window", "concurrency",
	"sre10", "finagle", "envoy", "grpc", "aws", "dotnet",
}

// String returns the text form.
func (k GateKind) String() string { return gateNames[k] }

// Allowed lists the text forms.
func (GateKind) Allowed() []string { return gateNames[1:] }

// MarshalText returns the text form.
func (k GateKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (k *GateKind) UnmarshalText(text []byte) error {
	return parse(k, "gate", text, gateNames, k.Allowed())
}

// rank orders gates for asking: the throttle only answers, the breaker lends a
// probe, a budget spends.
func (k GateKind) rank() int { return int(min(k, TokenBucket)) }

// Charge is when a budget takes its token.
type Charge uint8

// The two moments.
const (
	// ChargeSend charges when the retry is sent.
	ChargeSend Charge = iota + 1
	// ChargeSchedule charges when the retry is scheduled, before its backoff.
	ChargeSchedule
)

var chargeNames = []string{"", "send", "schedule"}

// String returns the text form.
func (c Charge) String() string { return chargeNames[c] }

// Allowed lists the text forms.
func (Charge) Allowed() []string { return chargeNames[1:] }

// MarshalText returns the text form.
func (c Charge) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (c *Charge) UnmarshalText(text []byte) error {
	return parse(c, "charge", text, chargeNames, c.Allowed())
}

// at reports whether a budget that charges at c takes its token at w.
func (c Charge) at(w When) bool { return (c == ChargeSchedule) == (w == Scheduled) }

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

// gateDefaults holds each kind's parameters. What is nil here does not apply to the kind.
var gateDefaults = map[GateKind]GateSpec{
	AdaptiveThrottle: {K: new(2 * One), Window: new(2 * time.Minute)},
	CircuitBreaker: {
		FailureRatio: new(One / 2), MinRequests: new(20), Window: new(10 * time.Second), OpenFor: new(5 * time.Second), Probes: new(1),
	},
	TokenBucket: {Charge: new(ChargeSend), Capacity: new(10 * One), Initial: new(10 * One), Earn: new(One / 10)},
	Ratio:       {Charge: new(ChargeSend), Ratio: new(One / 10), AtLeast: new(0)},
	SlidingWindow: {
		Charge: new(ChargeSend), Ratio: new(One / 10), Window: new(10 * time.Second), Reserve: new(0), AtLeast: new(0), MinRequests: new(0),
	},
	Concurrency: {Charge: new(ChargeSend), Ratio: new(One / 5), AtLeast: new(3)},
	SRE10:       {Charge: new(ChargeSend), Ratio: new(One / 10), Window: new(2 * time.Minute)},
	Finagle:     {Charge: new(ChargeSchedule), Ratio: new(One / 5), Window: new(10 * time.Second), Reserve: new(100)},
	Envoy:       {Charge: new(ChargeSchedule), Ratio: new(One / 5), AtLeast: new(3)},
	GRPC:        {Charge: new(ChargeSchedule), Capacity: new(10 * One), Initial: new(10 * One), Earn: new(One / 10)},
	AWS:         {Charge: new(ChargeSchedule), Capacity: new(500 * One), Initial: new(500 * One), Earn: new(One)},
	Dotnet:      {Charge: new(ChargeSchedule), Ratio: new(One / 10), Window: new(10 * time.Second), AtLeast: new(1), MinRequests: new(10)},
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
	r := g.Resolved()
	switch g.Kind {
	case AdaptiveThrottle:
		return newThrottle(r), nil
	case CircuitBreaker:
		return newBreaker(r), nil
	case TokenBucket, GRPC, AWS:
		return newBucket(r), nil
	case Concurrency, Envoy:
		return newConcurrency(r), nil
	default:
		return newShare(r), nil
	}
}
