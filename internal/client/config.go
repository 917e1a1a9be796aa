// Package client is the live driver of populations of impatient clients: it
// keeps their arrivals and timers on a wall clock and carries their attempts
// over HTTP.
//
//	arrivals ─┐                     ┌─ raw connections (h1: post, close, plain)
//	timers   ─┴─ pacing thread ─────┤
//	                 │              └─ net/http (h2c, poll, https)
//	                 └─ populations (one lock) ◄─ replies
//
// The pacing thread sleeps to the next due instant, asks the populations what to
// do and writes the requests itself, so that an attempt leaves some ten
// microseconds after its intended instant. On Linux it waits for the answers on raw
// connections as well; elsewhere each connection has a goroutine. The client's own
// timer is the truth: when patience ends the call moves on, whatever the server
// does later.
//
// The pacing thread wants a P of the Go scheduler the moment it wakes: a program
// that generates much load does well to raise GOMAXPROCS by one with [MoreProcs].
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// The bounds of a generator.
const (
	MaxConns    = 60_000          // connections to one target, whatever Config says
	DialTimeout = 3 * time.Second // for one connection
	Grace       = 50 * time.Millisecond
	maxDialers  = 8 // dials at once

	// maxIdle is how long a connection may be idle and still be used. A server closes what
	// was idle for too long, and a request that is on its way just then is lost. Five
	// seconds are the shortest time that is usual.
	maxIdle      = 4 * time.Second
	maxBody      = 1 << 20 // bytes of a plain request
	maxProcesses = 1000
)

// MoreProcs lets one more goroutine run than there are processors, so that a
// pacing thread that wakes finds a free place at once. It is for the start of a
// program that mainly generates load.
func MoreProcs() { runtime.GOMAXPROCS(runtime.NumCPU() + 1) }

// Config is what a Generator plays and against whom.
type Config struct {
	// Target is the base URL of the server (for plain groups: the whole URL).
	Target string
	Groups []Group
	// Phases change the load of all groups, or of the one they name.
	Phases []arrival.Phase
	// Classes are what population.Attempt.Class indexes; empty means one that is not named to the server.
	Classes []work.Class
	// Seed gives the arrivals and all draws of the clients.
	Seed draw.Seed
	// Horizon ends the run; 0 means that only its context does.
	Horizon time.Duration
	// MaxConns bounds the connections that are open at once: what the file limit allows.
	MaxConns int
	// Record is handed each event of the client view, in order of time, under the
	// generator's lock; see Generator.Do.
	Record func(ledger.Event)
	// Dial opens connections; nil means net.Dialer. A connection's Write must not
	// wait for the peer to read.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// VirtualTime paces with ordinary timers, as a synctest bubble needs.
	VirtualTime bool
}

// Group is clients that behave alike.
type Group struct {
	Population population.Spec
	// Arrivals is not used by a closed loop (Population.Users).
	Arrivals arrival.Spec
	// ClassOf returns the class of a request by its number (population.RequestID);
	// nil means class 0 for all.
	ClassOf  func(request uint64) uint8
	Wait     scenario.Wait     // "" means post
	Protocol scenario.Protocol // "" means h1
	// Processes spreads the group over so many populations, each with gates of its
	// own: request k belongs to number k modulo Processes. 0 means 1.
	Processes int
	// Plain is what a plain group sends.
	Plain Plain
}

// Plain is a request to any service. It does not name what shedload adds: the
// deadline header and, when Body is not empty, Content-Length.
type Plain struct {
	Method string // "" means GET
	Header http.Header
	Body   []byte
}

func (g *Group) defaults() {
	if g.Wait == "" {
		g.Wait = scenario.WaitPost
	}
	if g.Protocol == "" {
		g.Protocol = scenario.H1
	}
	if g.Plain.Method == "" {
		g.Plain.Method = http.MethodGet
	}
	if g.Processes == 0 {
		g.Processes = 1
	}
}

// raw reports whether the group's attempts go over raw connections.
func (g *Group) raw(target *url.URL) bool {
	return target.Scheme == "http" && g.Protocol == scenario.H1 && g.Wait != scenario.WaitPoll &&
		(g.Wait != scenario.WaitPlain || g.Plain.Method != http.MethodHead)
}

// check returns the target and what is wrong with c.
func (c *Config) check() (*url.URL, error) {
	target, err := url.Parse(c.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	switch {
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || target.User != nil || target.Fragment != "":
		return nil, fmt.Errorf("target %q: allowed is a URL like http://127.0.0.1:8080", c.Target)
	case len(c.Groups) == 0:
		return nil, errors.New("no group of clients")
	case c.MaxConns < 1 || c.MaxConns > MaxConns:
		return nil, fmt.Errorf("connections: %d, allowed are 1 to %d", c.MaxConns, MaxConns)
	case c.Record == nil:
		return nil, errors.New("nobody records the events")
	case len(c.Classes) > work.MaxClasses:
		return nil, fmt.Errorf("%d classes: at most %d are allowed", len(c.Classes), work.MaxClasses)
	}
	for i := range c.Groups {
		if err := c.Groups[i].check(target); err != nil {
			return nil, fmt.Errorf("client %q: %w", c.Groups[i].Population.Name, err)
		}
	}
	if c.Dial == nil {
		// An exchange has a time limit of its own: no keep-alive probes.
		c.Dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	return target, nil
}

func (g *Group) check(target *url.URL) error {
	switch {
	case target.Scheme == "https" && g.Protocol == scenario.H2C:
		return errors.New("protocol: h2c is HTTP/2 without TLS, not for an https target")
	case g.Wait != scenario.WaitPlain && target.RawQuery != "":
		return fmt.Errorf("target: a query (%q) is for wait: plain only", target.RawQuery)
	case g.Processes < 0 || g.Processes > maxProcesses:
		return fmt.Errorf("processes: %d, allowed are 1 to %d", g.Processes, maxProcesses)
	case len(g.Plain.Body) > maxBody:
		return fmt.Errorf("a body of %d bytes: at most %d are sent", len(g.Plain.Body), maxBody)
	}
	// net/http knows which methods can be sent at all.
	if _, err := http.NewRequest(g.Plain.Method, target.String(), nil); err != nil {
		return err
	}
	return validHeader(g.Plain.Header)
}
