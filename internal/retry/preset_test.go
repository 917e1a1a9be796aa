package retry

import (
	"testing"

	"shedload/internal/draw"
	"shedload/internal/work"
)

func TestSRE10(t *testing.T) {
	g := gate(t, GateSpec{Kind: SRE10})
	granted(g, 99, at(0), first(0))
	if got := granted(g, 100, at(60_000), again(0, Timeout)); got != 9 {
		t.Errorf("%d retries for 99 requests, want 9", got)
	}
	// At 121 s the requests have left the window and the retries have not.
	granted(g, 100, at(121_000), first(0))
	if got := granted(g, 100, at(121_000), again(0, Timeout)); got != 1 {
		t.Errorf("%d retries, want 10 for the new requests less 9 of a minute ago", got)
	}
}

func TestFinagle(t *testing.T) {
	g := gate(t, GateSpec{Kind: Finagle})
	if got := granted(g, 200, 0, scheduled(Timeout)); got != 100 {
		t.Errorf("%d retries without a request, want the reserve of 10 a second for 10 s", got)
	}
	granted(g, 50, at(1), first(0))
	if got := granted(g, 200, at(1), scheduled(Timeout)); got != 10 {
		t.Errorf("%d retries for 50 requests, want 20 %%", got)
	}
	if got := granted(g, 200, at(20_000), scheduled(Timeout)); got != 100 {
		t.Errorf("%d retries after 20 s, want the reserve alone", got)
	}
}

func TestDotnet(t *testing.T) {
	g := gate(t, GateSpec{Kind: Dotnet})
	granted(g, 9, 0, first(0))
	if got := granted(g, 30, 0, scheduled(Timeout)); got != 30 {
		t.Errorf("%d of 30 retries below ten requests, want all", got)
	}
	g = gate(t, GateSpec{Kind: Dotnet})
	granted(g, 10, 0, first(0))
	if got := granted(g, 30, 0, scheduled(Timeout)); got != 1 {
		t.Errorf("%d retries for 10 requests, want 1", got)
	}
	granted(g, 29, 0, first(0))
	if got := granted(g, 30, 0, scheduled(Timeout)); got != 2 {
		t.Errorf("%d more retries for 39 requests, want 3 in all", got)
	}
}

func TestEnvoy(t *testing.T) {
	g := gate(t, GateSpec{Kind: Envoy})
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 3 {
		t.Errorf("%d concurrent retries with nothing under way, want 3", got)
	}
	granted(g, 30, 0, first(0))
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 3 {
		t.Errorf("%d further ones with 30 under way, want 6 in all", got)
	}
	g.Allow(0, again(0, Refusal), draw.Rand{}) // one of them leaves ...
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 0 {
		t.Error("a retry that is sent makes no room")
	}
	g.Observe(0, again(0, Refusal), failed) // ... and ends
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 1 {
		t.Errorf("%d retries in the place of the one that ended, want 1", got)
	}
	g.Observe(0, scheduled(Refusal), work.Result{})
	if got := granted(g, 10, 0, scheduled(Refusal)); got != 1 {
		t.Errorf("%d retries in the place of one that never left, want 1", got)
	}
	for range 30 {
		g.Observe(0, first(0), ok)
	}
	if b := balance(g, 0); b != -3*One {
		t.Errorf("balance %s, want -3: six retries under way, three allowed", b)
	}
}

// gRFC A6: 10 tokens, a failure takes 1, a success brings 0.1, retries above 5.
func TestGRPC(t *testing.T) {
	g := gate(t, GateSpec{Kind: GRPC})
	fail := func(n int) {
		for range n {
			g.Observe(0, first(0), failed)
		}
	}
	fail(4)
	if granted(g, 2, 0, scheduled(Error)) != 2 {
		t.Error("6 tokens: a retry is allowed and takes none")
	}
	fail(1)
	if granted(g, 1, 0, scheduled(Error)) != 0 {
		t.Error("5 tokens: half is not more than half")
	}
	g.Observe(0, first(0), ok)
	if granted(g, 1, 0, scheduled(Error)) != 1 {
		t.Error("5.1 tokens: a retry is allowed")
	}
	fail(100)
	if b := balance(g, 0); b != -5*One {
		t.Errorf("balance %s, want 5 below the threshold: no less than 0 tokens", b)
	}
	for range 1000 {
		g.Observe(0, again(0, Error), ok)
	}
	if b := balance(g, 0); b != 5*One {
		t.Errorf("balance %s, want 5 above the threshold: no more than 10 tokens", b)
	}
}

func TestAWS(t *testing.T) {
	g := gate(t, GateSpec{Kind: AWS})
	if got := granted(g, 100, 0, scheduled(Timeout)); got != 35 {
		t.Errorf("%d retries after time-outs from 500 tokens, want 35 of 14", got)
	}
	if got := granted(g, 100, 0, scheduled(Refusal)); got != 2 {
		t.Errorf("%d retries after refusals from 10 tokens, want 2 of 5", got)
	}
	g.Observe(0, again(0, Timeout), ok)
	if b := balance(g, 0); b != 14*One {
		t.Errorf("a retry that succeeds brings back %s, want 14", b)
	}
	g.Observe(0, again(0, Refusal), ok)
	g.Observe(0, first(0), ok)
	g.Observe(0, again(0, Refusal), failed)
	g.Observe(0, first(0), failed)
	if b := balance(g, 0); b != 20*One {
		t.Errorf("balance %s, want 14 + 5 + 1", b)
	}
}
