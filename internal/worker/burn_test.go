//go:build linux

package worker_test

import (
	"context"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"shedload/internal/api"
	"shedload/internal/queue"
	"shedload/internal/station"
	"shedload/internal/worker"
)

// TestCPUWorkUsesTheProcessor runs on real time: processor time has no bubble.
func TestCPUWorkUsesTheProcessor(t *testing.T) {
	s, err := api.New(api.Config{Station: station.Config{Queue: queue.Config{}, LeaseTimeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Workers())
	defer server.Close()
	const units, each = 8, 2 * time.Millisecond
	w, err := worker.New(worker.Config{
		API: server.URL, Name: "cpu", Workers: 2, Work: worker.CPU, Model: model(t, options{service: each.String()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Public()
	var answers []*httptest.ResponseRecorder
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	before := threadsTime(t)
	go func() { done <- w.Run(ctx) }()
	for range units {
		r := httptest.NewRequest("POST", "/v1/operations", nil)
		r.Header.Set("Prefer", "wait=60")
		a := httptest.NewRecorder()
		h.ServeHTTP(a, r)
		answers = append(answers, a)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, a := range answers {
		expect(t, "status", a.Code, 200)
	}
	if used := threadsTime(t) - before; used < units*each {
		t.Errorf("%v of processor time for %d times %v", used, units, each)
	}
	if n := w.Numbers(); n.WorkTime < units*each {
		t.Errorf("%v of work for %d times %v", n.WorkTime, units, each)
	}
}

// threadsTime is the processor time of this process.
func threadsTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
