package sim

import (
	"testing"

	"shedload/internal/scenario"
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

// BenchmarkMillionASecond runs one second of it; -benchtime 1x -run and the test
// below run the minute.
func BenchmarkMillionASecond(b *testing.B) {
	measure(b, inline(b, million, "horizon=1s")[0])
}
