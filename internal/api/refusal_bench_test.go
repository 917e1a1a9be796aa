//go:build unix

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"shedload/internal/admit"
)

// refusalRounds is how many attempts one measurement takes.
const refusalRounds = 2_000

// BenchmarkRefusalAgainstServed compares the processor time of an attempt that the door
// refuses with that of one that is served: accepted, leased, reported, answered. Both
// go over loopback on one kept connection; client, server and worker are all in it.
func BenchmarkRefusalAgainstServed(b *testing.B) {
	full := benchServer(b, func(c *Config) { c.Station.Door = admit.Spec{Kind: admit.InSystem, Limit: 1} })
	refuse := attemptClient(b, loopback4(b, full.Public()), "Prefer: wait=0", "202")
	refuse() // takes the only place, for ever
	refuse = attemptClient(b, loopback4(b, full.Public()), "Prefer: wait=1", "503")

	serving := benchServer(b, nil)
	go finishAll(b, "http://"+loopback4(b, serving.Workers())+leasesPath)
	serve := attemptClient(b, loopback4(b, serving.Public()), "Prefer: wait=1", "200")

	var refused, served time.Duration
	for b.Loop() {
		refused += timeOf(b, refuse)
		served += timeOf(b, serve)
	}
	n := float64(b.N * refusalRounds)
	b.ReportMetric(float64(refused.Microseconds())/n, "µs/refused")
	b.ReportMetric(float64(served.Microseconds())/n, "µs/served")
	b.ReportMetric(refused.Seconds()/served.Seconds(), "of-served")
}

// timeOf is the processor time of a round of attempts.
func timeOf(b *testing.B, attempt func()) time.Duration {
	before := processorTime(b)
	for range refusalRounds {
		attempt()
	}
	return processorTime(b) - before
}

// attemptClient returns what makes one attempt on a kept connection and requires a status.
func attemptClient(b *testing.B, addr, prefer, status string) func() {
	b.Helper()
	request := fmt.Appendf(nil, "POST /v1/operations HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nX-Request-Id: 123456\r\n"+
		"X-Attempt: 1\r\nX-Request-Timeout-Ms: 3600000\r\n%s\r\n\r\n", addr, prefer)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	answer := make([]byte, 2048)
	return func() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		n, err := c.Read(answer)
		if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 "+status)) || answer[n-1] != '\n' {
			b.Fatalf("%v: %q, want %s", err, answer[:n], status)
		}
	}
}

// finishAll is a worker that is done with everything at once.
func finishAll(b *testing.B, url string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	done := ""
	for b.Context().Err() == nil {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(`{"worker":"w","want":1,"done":[`+done+`]}`))
		if err != nil {
			return
		}
		resp, err := client.Do(r)
		if err != nil {
			return // the benchmark is over
		}
		var granted struct{ Leases []struct{ Lease string } }
		err = json.NewDecoder(resp.Body).Decode(&granted)
		_ = resp.Body.Close()
		if done = ""; err == nil && len(granted.Leases) > 0 {
			done = fmt.Sprintf(`{"lease":%q,"ok":true,"work_ms":0.1}`, granted.Leases[0].Lease)
		}
	}
}
