package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/work"
)

// TestKinds sorts errors as systems return them.
func TestKinds(t *testing.T) {
	dial := func(err error) error { return fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: err}) }
	for want, err := range map[errorKind]error{
		kindDialRefused: dial(syscall.ECONNREFUSED), kindDialTimeout: dial(context.DeadlineExceeded), kindDialFailed: dial(syscall.EMFILE),
		kindReset: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, kindClosedEarly: io.ErrUnexpectedEOF, kindOther: errors.New("?"),
	} {
		if got := kindOf(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	for k := range numErrorKinds {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}

// TestWrongConfig: what cannot be is said by name.
func TestWrongConfig(t *testing.T) {
	tests := []struct {
		want   string
		change func(*Config)
	}{
		{`target "server"`, func(c *Config) { c.Target = "server" }},
		{`target "ftp://server"`, func(c *Config) { c.Target = "ftp://server" }},
		{`target "http://a:b@server"`, func(c *Config) { c.Target = "http://a:b@server" }},
		{"a query", func(c *Config) { c.Target = "http://server/?a=b" }},
		{"no group", func(c *Config) { c.Groups = nil }},
		{"connections: 0", func(c *Config) { c.MaxConns = 0 }},
		{"connections: needs 732 (new requests of one patience, and a reserve), have 100", func(c *Config) {
			c.MaxConns, c.Groups[0].Arrivals.Rate = 100, 1000
			c.Groups[0].Population.Patience = 600 * ms
		}},
		{"nobody records", func(c *Config) { c.Record = nil }},
		{"65 classes", func(c *Config) { c.Classes = make([]work.Class, 65) }},
		{"processes: -1", func(c *Config) { c.Groups[0].Processes = -1 }},
		{`client "users": patience`, func(c *Config) { c.Groups[0].Population.Patience = 0 }},
		{`client "users": arrivals`, func(c *Config) { c.Groups[0].Arrivals.Kind = 99 }},
		{"h2c", func(c *Config) { c.Target, c.Groups[0].Protocol = "https://server", scenario.H2C }},
		{"a body of", func(c *Config) { c.Groups[0].Plain.Body = make([]byte, maxBody+1) }},
		{"method", func(c *Config) { c.Groups[0].Plain.Method = "A B" }},
		{"header name", func(c *Config) { c.Groups[0].Plain.Header = http.Header{"a b": {"c"}} }},
		{"control characters", func(c *Config) { c.Groups[0].Plain.Header = http.Header{"A": {"b\r\nC: d"}} }},
		{"Host is set", func(c *Config) { c.Groups[0].Plain.Header = http.Header{"Host": {"b"}} }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			c := Config{Target: "http://server", MaxConns: 100, Record: func(ledger.Event) {}, Groups: []Group{users(700*ms, 1)}}
			tt.change(&c)
			if _, err := New(c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestUnreachable is said before anything begins, and counted when it happens later.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, way := range ways {
			m, r := newMemory(), &recorder{}
			_ = m.Close()
			group := one(users(700*ms, 2))
			group.Wait, group.Protocol = way.wait, way.protocol
			g, err := New(Config{
				Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 100, Horizon: 5 * time.Second,
				Groups: []Group{group},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Prepare(t.Context()); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "http://server") {
				t.Errorf("%v", err)
			}
			if err := g.Run(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			r.conserved(t)
			if n := len(r.of(ledger.Missed)); n != 2 || len(r.of(ledger.Sent)) != 0 {
				t.Errorf("%v: %d missed, want 2", way, n)
			}
		}
	})
}

// TestCloseAfterPrepare leaves nothing behind; the bubble would notice.
func TestCloseAfterPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.serve(t, atOnce)
		g, err := New(Config{Target: "http://server", Dial: m.dial, Record: func(ledger.Event) {}, MaxConns: 100, Groups: []Group{users(1, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.Close()
		g.Close()
		if err := g.Run(t.Context(), time.Now()); err == nil {
			t.Error("it ran after Close")
		}
	})
}

// TestConns: what a load needs is told before it runs.
func TestConns(t *testing.T) {
	closed := users(2*time.Second, 1)
	closed.Arrivals, closed.Population.Users = arrival.Spec{}, 50
	closed.Population.Think = service.Spec{Kind: service.Fixed, A: time.Second}
	burst := users(2*time.Second, 1)
	burst.Arrivals = arrival.Spec{Kind: arrival.Burst, Count: 70}
	polling := users(2*time.Second, 1)
	polling.Wait = scenario.WaitPoll
	tests := []struct {
		group       Group
		conns, warm int
	}{
		{users(2*time.Second, 1), 32 + 40 + 800, 32 + 40 + 400}, // 400/s in the spike
		{closed, 32 + 50, 32 + 50},
		{burst, 32 + 70, 32 + 70},
	}
	for _, tt := range tests {
		g, err := New(Config{
			Target: "http://server", MaxConns: 2000, Record: func(ledger.Event) {}, Groups: []Group{tt.group, polling},
			Phases: []arrival.Phase{{At: time.Second, For: time.Second, Factor: 400}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if g.Conns() != tt.conns || g.first() != tt.warm {
			t.Errorf("%+v: %d and %d at first, want %d and %d", tt.group.Arrivals, g.Conns(), g.first(), tt.conns, tt.warm)
		}
		g.Close()
	}
}
