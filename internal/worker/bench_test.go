//go:build unix

package worker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"shedload/internal/api"
	"shedload/internal/client/pace"
	"shedload/internal/queue"
	"shedload/internal/station"
	"shedload/internal/worker"
)

// BenchmarkThroughput measures how much of their nominal rate workers of 50 ms
// reach over HTTP on loopback while the queue never runs dry, and what it costs:
// processor time of worker and server together.
func BenchmarkThroughput(b *testing.B) {
	for _, n := range []int{4, 400} {
		for _, precise := range []bool{true, false} {
			b.Run(fmt.Sprintf("workers=%d/precise=%v", n, precise), func(b *testing.B) { throughput(b, n, precise) })
		}
	}
}

func throughput(b *testing.B, n int, precise bool) {
	const horizon = 5 * time.Second
	s, err := api.New(api.Config{Station: station.Config{Queue: queue.Config{}, LeaseTimeout: 10 * time.Second}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go s.Run(ctx)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: s.Workers()}
	defer srv.Close()
	go srv.Serve(l)
	c := worker.Config{API: "http://" + l.Addr().String(), Name: "bench", Workers: n, Model: model(b, options{service: "50ms"})}
	if precise {
		c.Pace = func(f func(worker.Sleeper)) error { return pace.With(func(s pace.Sleeper) { f(s) }) }
	}
	w, err := worker.New(c)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(b.Context())
	for b.Loop() {
		fill(s, int(horizon.Seconds()*1.5)*n*20)
		if w.Numbers().Exchanges == 0 {
			go func() { done <- w.Run(ctx) }()
			time.Sleep(200 * time.Millisecond)
		}
		before, cpu, start := w.Numbers(), processorTime(b), time.Now()
		time.Sleep(horizon)
		after, took := w.Numbers(), time.Since(start)
		units := float64(after.Finished - before.Finished)
		b.ReportMetric(100*units/(took.Seconds()*float64(n)*20), "%nominal")
		b.ReportMetric((processorTime(b)-cpu).Seconds()*1e6/units, "cpu-µs/unit")
		b.ReportMetric(units/float64(after.Exchanges-before.Exchanges), "units/request")
	}
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// fill queues n units past the network.
func fill(s *api.Server, n int) {
	h := s.Public()
	for range n {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/operations", nil))
	}
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
