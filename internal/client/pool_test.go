package client

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/ledger"
)

// TestIdleConnections: no connection is used that was idle for longer than any usual server
// allows, whether it was used before or not, and the reserve is there all the same. Where
// there is load for all of them, none is given up.
func TestIdleConnections(t *testing.T) {
	for _, c := range []struct {
		name     string
		arrivals arrival.Spec
		phases   []arrival.Phase
		dials    bool // more than at first
	}{
		{"load for all", arrival.Spec{Kind: arrival.Even, Rate: 60}, nil, false},
		{"load for few", arrival.Spec{Kind: arrival.Even, Rate: 1}, nil, true},
		{"a pause", arrival.Spec{Kind: arrival.Even, Rate: 60}, []arrival.Phase{{Name: "pause", At: 3 * time.Second, For: 5 * time.Second, Stop: true}}, true},
		{"after a spike", arrival.Spec{Kind: arrival.Even, Rate: 10}, []arrival.Phase{{Name: "spike", At: 3 * time.Second, For: 2 * time.Second, Rate: 500}}, true},
		{"a pause after a spike", arrival.Spec{Kind: arrival.Even, Rate: 10}, []arrival.Phase{
			{Name: "spike", At: 3 * time.Second, For: 2 * time.Second, Rate: 500},
			{Name: "pause", At: 5 * time.Second, For: 6 * time.Second, Stop: true},
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newMemory(), &recorder{}
				t.Cleanup(func() { _ = m.Close() })
				var longest atomic.Int64
				go acceptAll(m, &longest)
				group := users(700*ms, 1)
				group.Arrivals = c.arrivals
				g, err := New(Config{
					Target: "http://server", Dial: m.dial, Record: r.record, VirtualTime: true, MaxConns: 2000, Horizon: 20 * time.Second,
					Groups: []Group{group}, Phases: c.phases,
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				first := m.dials
				if err := g.Run(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // until the last answers have nobody to go to
				r.conserved(t)
				for _, e := range r.of(ledger.Sent) {
					if e.Took > 0 {
						t.Errorf("a send at %v was %v late, and dials take no time here", e.At, e.Took)
						break
					}
				}
				if stats := g.Stats(); len(stats.ClientErrors) > 0 {
					t.Errorf("client errors %v", stats.ClientErrors)
				}
				if idle := time.Duration(longest.Load()); idle > maxIdle {
					t.Errorf("a connection was used that had been idle for %v", idle)
				}
				if (m.dials > first) != c.dials {
					t.Errorf("%d connections at first, %d in all", first, m.dials)
				}
			})
		})
	}
}

// acceptAll answers every request after half a second and keeps the longest time for
// which a connection was idle before one.
func acceptAll(m *memory, longest *atomic.Int64) {
	for {
		c, err := m.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			answerAll(c, longest)
		}()
	}
}

func answerAll(c net.Conn, longest *atomic.Int64) {
	buf, n := make([]byte, 4096), 0
	for last := time.Now(); ; {
		m, err := c.Read(buf[n:])
		if err != nil {
			return
		}
		if n += m; !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
			continue
		}
		n = 0
		longest.Store(max(longest.Load(), int64(time.Since(last))))
		time.Sleep(500 * time.Millisecond)
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return
		}
		last = time.Now()
	}
}
