package bench

import (
	"testing"
	"time"
)

const (
	rate   = 3500
	length = 10 * time.Second
)

func (r report) perSend(d time.Duration) float64 { return float64(d.Microseconds()) / float64(r.Sends) }

func (r report) metrics(b *testing.B, name string) {
	b.Logf("%-8s sends %d, missed %d, late p50 %v p99 %v max %v, generator %.1f µs, server %.1f µs a send",
		name, r.Sends, r.Missed, r.P50, r.P99, r.Max, r.perSend(r.Generator), r.perSend(r.Server))
}

// BenchmarkAgainstVegeta: 3,500 sends a second to a server that holds each for a
// second. Wanted: p50 of send lateness at most 0.1 of vegeta's, p99 no worse,
// processor time at most 0.5. The floor is what the system calls alone take.
func BenchmarkAgainstVegeta(b *testing.B) {
	for b.Loop() {
		theirs := measure(b, job{Role: "vegeta", Rate: rate, For: length})
		mine := measure(b, job{Role: "ours", Rate: rate, For: length, Patience: 2 * time.Second, Wait: "post"})
		least := measure(b, job{Role: "floor", Rate: rate, For: length})
		theirs.metrics(b, "vegeta")
		mine.metrics(b, "ours")
		least.metrics(b, "floor")
		b.ReportMetric(float64(mine.P50)/float64(theirs.P50), "late-p50/vegeta")
		b.ReportMetric(float64(mine.P99)/float64(theirs.P99), "late-p99/vegeta")
		b.ReportMetric(mine.perSend(mine.Generator)/theirs.perSend(theirs.Generator), "cpu/vegeta")
		b.ReportMetric(least.perSend(least.Generator)/theirs.perSend(theirs.Generator), "floor-cpu/vegeta")
	}
}

// BenchmarkAttempt: processor time of generator and server for an attempt that
// waits a second and is not served, against two bare net/http round trips. Wanted:
// at most 0.8 when the server answers at the deadline, 1.3 when the client closes.
func BenchmarkAttempt(b *testing.B) {
	for b.Loop() {
		two := measure(b, job{Role: "bare", Rate: rate, For: length})
		two.metrics(b, "bare")
		for _, server := range []string{"server", "apiserver"} {
			for _, wait := range []string{"post", "close"} {
				r := measure(b, job{Role: "ours", Server: server, Rate: rate, For: length, Patience: time.Second, Wait: wait, Retry: true})
				r.metrics(b, server+" "+wait)
				b.ReportMetric(r.perSend(r.Generator+r.Server)/two.perSend(two.Generator+two.Server), server+"-"+wait+"/bare")
			}
		}
	}
}

// BenchmarkWorst: 6,300 attempts a second, each open for a second. Wanted: none missed.
func BenchmarkWorst(b *testing.B) {
	for b.Loop() {
		r := measure(b, job{Role: "ours", Server: "apiserver", Rate: 6300, For: length, Patience: time.Second, Wait: "post", Retry: true})
		r.metrics(b, "worst")
		b.ReportMetric(float64(r.Missed), "missed")
		b.ReportMetric(float64(r.P99.Microseconds()), "late-p99-µs")
	}
}
