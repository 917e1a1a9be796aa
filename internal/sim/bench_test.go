package sim

import (
	"testing"
)

// BenchmarkShedYourLoad runs the published experiment: 90 virtual seconds, about
// 300,000 attempts in the two variants that collapse.
func BenchmarkShedYourLoad(b *testing.B) {
	for _, p := range plans(b, "shed-your-load") {
		b.Run(p.Variant, func(b *testing.B) {
			b.ReportAllocs()
			var events int64
			for range b.N {
				r, err := Run(p)
				if err != nil {
					b.Fatal(err)
				}
				events += r.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
