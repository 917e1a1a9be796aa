package sim

import (
	"runtime"
	"testing"

	"shedload/internal/scenario"
	"shedload/test/need"
)

// measure runs p b.N times and reports events and processor time.
func measure(b *testing.B, p scenario.Plan) {
	b.ReportAllocs()
	var events int64
	before := cpu()
	for b.Loop() {
		r, err := Run(p)
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	used := (cpu() - before).Seconds()
	b.ReportMetric(float64(events)/used/1e6, "Mevents/cpu-s")
	b.ReportMetric(used*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}

// BenchmarkShedYourLoad runs the published experiment: 90 virtual seconds, about
// 300,000 attempts in the two variants that collapse.
func BenchmarkShedYourLoad(b *testing.B) {
	for _, p := range plans(b, "shed-your-load", "fifo", "lifo", "naive-deadline", "deadline", "fix-adaptive-lifo") {
		b.Run(p.Variant, func(b *testing.B) { measure(b, p) })
	}
}

// million is a system of a million requests a second.
const million = `name: million
horizon: 60s
server: {discipline: fifo}
backend: {workers: 80000, service_time: "exp:70ms"}
clients: [{name: users, arrivals: poisson, rate: 1000000, patience: 1s, retry: {attempts: 3, on: [timeout]}}]
`

// BenchmarkMillionASecond runs a second of it and, where everything is required
// (REQUIRE_ALL=1), a minute, and reports the memory that took.
func BenchmarkMillionASecond(b *testing.B) {
	for _, length := range []string{"1s", "4s", "60s"} {
		b.Run(length, func(b *testing.B) {
			if length == "60s" && !need.All() {
				b.Skip("takes minutes: set REQUIRE_ALL=1 to run it")
			}
			measure(b, inline(b, million, "horizon="+length)[0])
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/1e6, "MB-from-system")
		})
	}
}
