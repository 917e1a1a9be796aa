//go:build unix

package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"shedload/internal/queue"
	"shedload/internal/station"
	"shedload/internal/work"
)

func loopback4(b *testing.B, h http.Handler) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	b.Cleanup(func() { _ = srv.Close() })
	go srv.Serve(l)
	return l.Addr().String()
}

func benchServer(b *testing.B, change func(*Config)) *Server {
	b.Helper()
	c := Config{Station: station.Config{Queue: queue.Config{Discipline: discipline(b, "fifo")}, LeaseTimeout: 10 * time.Second}}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	go s.Run(ctx)
	return s
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The pace of BenchmarkWaitingPost: 3,500 requests a second, each open for 200 ms.
const (
	paceConns   = 700
	paceTimeout = 200 * time.Millisecond
	paceRounds  = 10
)

// BenchmarkWaitingPost compares the processor time of an operation that is held
// to its deadline, client included, with two bare net/http round trips at the
// same rate in the same run. The client writes prepared bytes and reads the
// answer at one go, as an economical generator does.
func BenchmarkWaitingPost(b *testing.B) {
	s := benchServer(b, nil)
	addr := loopback4(b, s.Public())
	bare := loopback4(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	var waiting, trips time.Duration
	for b.Loop() {
		waiting += paced(b, func() func() { return waitingClient(b, addr) })
		trips += paced(b, func() func() { return bareClient(b, "http://"+bare+"/") })
	}
	n := float64(b.N * paceConns * paceRounds)
	b.ReportMetric(float64(waiting.Microseconds())/n, "µs/wait")
	b.ReportMetric(float64(trips.Microseconds())/n, "µs/trip")
	b.ReportMetric(waiting.Seconds()/(2*trips.Seconds()), "of-two-trips")
}

// paced is the processor time of all clients' requests.
func paced(b *testing.B, client func() func()) time.Duration {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range paceConns {
		request := client()
		wg.Go(func() {
			<-start
			begin := time.Now().Add(time.Duration(i) * paceTimeout / paceConns)
			for round := range paceRounds {
				time.Sleep(time.Until(begin.Add(time.Duration(round) * (paceTimeout + 5*time.Millisecond))))
				request()
			}
		})
	}
	before := processorTime(b)
	close(start)
	wg.Wait()
	return processorTime(b) - before
}

func waitingClient(b *testing.B, addr string) func() {
	request := fmt.Appendf(nil, "POST /v1/operations HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nX-Request-Id: 123456\r\n"+
		"X-Attempt: 3\r\nX-Request-Timeout-Ms: %d\r\nPrefer: wait=1\r\n\r\n", addr, paceTimeout.Milliseconds())
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	answer := make([]byte, 1024)
	return func() {
		if _, err := c.Write(request); err != nil {
			b.Error(err)
			return
		}
		n, err := c.Read(answer)
		if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 202 ")) || answer[n-1] != '\n' {
			b.Errorf("%v: %q", err, answer[:n])
		}
	}
}

func bareClient(b *testing.B, url string) func() {
	client := &http.Client{Transport: &http.Transport{}}
	b.Cleanup(client.CloseIdleConnections)
	request := func() {
		resp, err := client.Post(url, "", nil)
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	request() // dials
	return request
}

// BenchmarkRefusal is the cost of a no at the door, past the network.
func BenchmarkRefusal(b *testing.B) {
	s := benchServer(b, func(c *Config) { c.Station.HardLimit = 1 })
	w := &discard{header: http.Header{}}
	r, err := http.NewRequest("POST", "/v1/operations", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header["X-Request-Timeout-Ms"] = []string{"1000"}
	s.Public().ServeHTTP(w, r)
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		s.Public().ServeHTTP(w, r)
	}
}

// BenchmarkStart is an operation that is queued, past the network.
func BenchmarkStart(b *testing.B) {
	s := benchServer(b, nil)
	w := &discard{header: http.Header{}}
	r, err := http.NewRequest("POST", "/v1/operations", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header["X-Request-Id"] = []string{"123456"}
	r.Header["X-Attempt"] = []string{"3"}
	r.Header["X-Request-Timeout-Ms"] = []string{"1000"}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		s.Public().ServeHTTP(w, r)
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkMemory is what 300,000 queued operations occupy, and 6,300 open
// waits with both ends of their connections in this process.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		s := benchServer(b, nil)
		empty := memory()
		for i := range 300_000 {
			a := attempt{request: uint64(i), named: true, attempt: 1, deadline: work.Instant(time.Hour)}
			s.arrive(a, key{}, s.clock())
		}
		queued := memory()
		b.ReportMetric((queued.heap-empty.heap)/300_000, "B/queued")
		addr := loopback4(b, s.Public())
		request := fmt.Appendf(nil, "POST /v1/operations HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-Request-Timeout-Ms: 20000\r\nPrefer: wait=20\r\n\r\n")
		var open []net.Conn
		for range 6300 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Write(request); err != nil {
				b.Fatal(err)
			}
			open = append(open, c)
		}
		for s.Gauges().Waits < 6300 {
			runtime.Gosched()
		}
		full := memory()
		b.ReportMetric((full.heap+full.stacks-queued.heap-queued.stacks)/6300, "B/wait")
		b.ReportMetric(full.sys/1e6, "MB-sys")
		for _, c := range open {
			_ = c.Close()
		}
	}
}

type usage struct{ heap, stacks, sys float64 }

func memory() usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{float64(m.HeapAlloc), float64(m.StackInuse), float64(m.Sys - m.HeapReleased)}
}
