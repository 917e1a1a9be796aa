package retry

import "time"

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
