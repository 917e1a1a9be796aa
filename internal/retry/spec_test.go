package retry

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

const ms = time.Millisecond

func TestSpecValidate(t *testing.T) {
	good := []Spec{
		{},
		{Attempts: 50, On: []Cause{Timeout}, RetryAfter: Ignore},
		{Attempts: 4, Backoff: BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms, Jitter: DecorrelatedJitter, Cap: time.Second}},
		{Attempts: 4, Backoff: BackoffSpec{Kind: FixedBackoff, Base: MaxWait, Jitter: EqualJitter}, Resume: true},
	}
	for _, s := range good {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Attempts: -1}, "attempts: -1 is outside 1 to 10000"},
		{Spec{Attempts: 10001}, "attempts: 10001 is outside 1 to 10000"},
		{Spec{On: []Cause{Timeout, 0}}, "on[1]: unknown cause 0: allowed are timeout, refusal, error"},
		{Spec{On: []Cause{Timeout, Timeout}}, "on[1]: timeout stands there twice"},
		{Spec{RetryAfter: 2}, "retry_after: unknown 2: allowed are honour, ignore"},
		{Spec{Backoff: BackoffSpec{Base: ms}}, "backoff.kind: none has no base, cap or jitter: allowed with them are fixed, exponential"},
		{Spec{Backoff: BackoffSpec{Kind: 3, Base: ms}}, "backoff.kind: unknown 3: allowed are none, fixed, exponential"},
		{Spec{Backoff: BackoffSpec{Kind: FixedBackoff}}, "backoff.base: 0s is outside 1ns to 1h0m0s"},
		{Spec{Backoff: BackoffSpec{Kind: FixedBackoff, Base: -ms}}, "backoff.base: -1ms is outside 1ns to 1h0m0s"},
		{Spec{Backoff: BackoffSpec{Kind: FixedBackoff, Base: ms, Cap: 1}}, "backoff.cap: 1ns is outside base 1ms to 1h0m0s"},
		{Spec{Backoff: BackoffSpec{Kind: FixedBackoff, Base: ms, Jitter: 4}}, "backoff.jitter: unknown 4: allowed are none, full, equal, decorrelated"},
		{Spec{Backoff: BackoffSpec{Kind: FixedBackoff, Base: ms, Jitter: DecorrelatedJitter}}, "backoff.jitter: decorrelated grows by itself: allowed with fixed are none, full, equal"},
	} {
		if err := c.s.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c.s, err, c.want)
		}
	}
}

func TestNewPolicyNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		s                 Spec
		patience, request time.Duration
		gates             []GateSpec
		want              string
	}{
		{Spec{Attempts: -1}, ms, 0, nil, "retry.attempts: -1 is outside 1 to 10000"},
		{Spec{}, 0, 0, nil, "patience: 0s is not above 0s"},
		{Spec{}, ms, -ms, nil, "request_deadline: -1ms is below 0s"},
		{Spec{}, ms, 0, []GateSpec{{Kind: SRE10}, {Kind: GRPC, Ratio: new(One)}}, "gates[1].ratio: grpc does not have it: allowed are charge, capacity, initial, earn"},
	} {
		if _, err := NewPolicy(c.s, c.patience, c.request, c.gates); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// text is what the enumerations of this package have in common.
type text interface {
	fmt.Stringer
	encoding.TextMarshaler
	Allowed() []string
}

func TestNamesRoundTrip(t *testing.T) {
	for _, zero := range []text{Cause(0), BackoffKind(0), Jitter(0), RetryAfter(0), Charge(0), GateKind(0)} {
		for _, name := range zero.Allowed() {
			v := reflect.New(reflect.TypeOf(zero))
			if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name)); err != nil {
				t.Errorf("%T: %v", zero, err)
			}
			if got, err := v.Elem().Interface().(text).MarshalText(); err != nil || string(got) != name {
				t.Errorf("%T: %q comes back as %q, %v", zero, name, got, err)
			}
		}
		v := reflect.New(reflect.TypeOf(zero)).Interface().(encoding.TextUnmarshaler)
		for _, bad := range []string{"", "None ", "TIMEOUT"} {
			err := v.UnmarshalText([]byte(bad))
			if err == nil || !strings.Contains(err.Error(), strings.Join(zero.Allowed(), ", ")) {
				t.Errorf("%T accepts %q or does not say what is allowed: %v", zero, bad, err)
			}
		}
	}
}

// The published clients, as a scenario file writes them.
func TestPublishedClientsAsYAML(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Spec
	}{
		"shed-your-load": {
			"{attempts: 50, on: [timeout], retry_after: ignore}",
			Spec{Attempts: 50, On: []Cause{Timeout}, RetryAfter: Ignore},
		},
		"retry-storms": {
			"{attempts: 4, on: [timeout, refusal], backoff: {kind: exponential, base: 100ms}, retry_after: ignore}",
			Spec{Attempts: 4, On: []Cause{Timeout, Refusal}, Backoff: BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms}, RetryAfter: Ignore},
		},
		"resume": {
			"{attempts: 3, resume: true, backoff: {kind: exponential, base: 1s, cap: 20s, jitter: decorrelated}}",
			Spec{Attempts: 3, Resume: true, Backoff: BackoffSpec{Kind: ExponentialBackoff, Base: time.Second, Cap: 20 * time.Second, Jitter: DecorrelatedJitter}},
		},
	} {
		var got Spec
		if err := yaml.UnmarshalWithOptions([]byte(c.text), &got, yaml.Strict()); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestGateSpecText(t *testing.T) {
	for _, name := range GateKind(0).Allowed() {
		var g GateSpec
		if err := g.UnmarshalText([]byte(name)); err != nil || g.Kind.String() != name {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
		if _, err := g.New(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := g.Resolved(); r.Validate() != nil {
			t.Errorf("%s: resolved it is not valid: %v", name, r.Validate())
		}
	}
	var g GateSpec
	if err := g.UnmarshalText([]byte("sre20")); err == nil || !strings.HasPrefix(err.Error(), `unknown gate "sre20": allowed are throttle, breaker, token_bucket,`) {
		t.Errorf("sre20: %v", err)
	}
}

func TestGateSpecValidate(t *testing.T) {
	for _, c := range []struct {
		g    GateSpec
		want string
	}{
		{GateSpec{}, "kind: no gate is named: allowed are throttle, breaker, token_bucket, ratio, sliding_window, concurrency, sre10, finagle, envoy, grpc, aws, dotnet"},
		{GateSpec{Kind: 99}, "kind: no gate is named: allowed are throttle, breaker, token_bucket, ratio, sliding_window, concurrency, sre10, finagle, envoy, grpc, aws, dotnet"},
		{GateSpec{Kind: TokenBucket, Ratio: new(One)}, "ratio: token_bucket does not have it: allowed are charge, capacity, initial, earn"},
		{GateSpec{Kind: AdaptiveThrottle, Charge: new(ChargeSend)}, "charge: throttle does not have it: allowed are window, k"},
		{GateSpec{Kind: TokenBucket, Charge: new(Charge(7))}, "charge: unknown 7: allowed are send, schedule"},
		{GateSpec{Kind: TokenBucket, Capacity: new(Thousandths(0))}, "capacity: 0 is outside 0.001 to 1000000"},
		{GateSpec{Kind: TokenBucket, Capacity: new(5 * One), Initial: new(6 * One)}, "initial: 6 is outside 0 to 5"},
		{GateSpec{Kind: TokenBucket, Initial: new(11 * One)}, "initial: 11 is outside 0 to 10"},
		{GateSpec{Kind: SlidingWindow, Window: new(time.Duration(0))}, "window: 0s is outside 1ms to 24h0m0s"},
		{GateSpec{Kind: SlidingWindow, Reserve: new(-1)}, "reserve: -1 is outside 0 to 1000000"},
		{GateSpec{Kind: AdaptiveThrottle, K: new(One - 1)}, "k: 0.999 is outside 1 to 1000"},
		{GateSpec{Kind: CircuitBreaker, FailureRatio: new(One + 1)}, "failure_ratio: 1.001 is outside 0.001 to 1"},
		{GateSpec{Kind: CircuitBreaker, Probes: new(0)}, "probes: 0 is outside 1 to 1000000"},
	} {
		_, err := c.g.New()
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestGateSpecResolvedAndScaled(t *testing.T) {
	g := GateSpec{Kind: TokenBucket, Capacity: new(80 * One)}.Resolved()
	if *g.Initial != 80*One || *g.Earn != 100 || *g.Charge != ChargeSend || g.Window != nil {
		t.Errorf("token bucket: %+v", g)
	}
	*g.Initial = 0 // must not reach the table of defaults
	if again := (GateSpec{Kind: TokenBucket}).Resolved(); *again.Initial != 10*One {
		t.Errorf("resolved specs share their parameters: initial %s", *again.Initial)
	}
	s := GateSpec{Kind: CircuitBreaker}.Scaled(1.5)
	if *s.Window != 15*time.Second || *s.OpenFor != 7500*ms || *s.MinRequests != 20 {
		t.Errorf("scaled breaker: window %s, open for %s, at least %d", *s.Window, *s.OpenFor, *s.MinRequests)
	}
	text, err := json.Marshal(GateSpec{Kind: Finagle}.Resolved())
	if want := `{"kind":"finagle","charge":"schedule","ratio":0.2,"window":10000000000,"reserve":100}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

func TestGatesThatSpendAreAskedLast(t *testing.T) {
	gates, err := NewGates([]GateSpec{{Kind: SRE10}, {Kind: CircuitBreaker}, {Kind: TokenBucket}, {Kind: AdaptiveThrottle}})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, g := range gates {
		order = append(order, fmt.Sprintf("%T", g))
	}
	if want := []string{"*retry.throttle", "*retry.breaker", "*retry.share", "*retry.bucket"}; !slices.Equal(order, want) {
		t.Errorf("asked in the order %q, want %q", order, want)
	}
}
