package queue

import (
	"math/bits"
	"time"

	"shedload/internal/work"
)

const (
	windowSlots = 10 // of a second each, the current one included
	subBuckets  = 64 // per power of two: a bucket is at most 1/64 wide
	// buckets reach from 1 microsecond to maxSample.
	buckets   = 27 * subBuckets
	maxSample = time.Hour
)

// window is a log-linear histogram of the last 10 s. It forgets a second at a
// time, so it covers between 9 and 10 s.
type window struct {
	slots  [windowSlots][buckets]uint32
	total  [buckets]uint32
	n      int
	second int64
}

func (w *window) add(d time.Duration, now work.Instant) {
	w.advance(now)
	b := bucketOf(d)
	w.slots[slotOf(w.second)][b]++
	w.total[b]++
	w.n++
}

// advance forgets the seconds that have left the window at now.
func (w *window) advance(now work.Instant) {
	second := int64(now / work.Instant(time.Second))
	if second <= w.second {
		return
	}
	for s := max(w.second+1, second-windowSlots+1); s <= second; s++ {
		slot := &w.slots[slotOf(s)]
		for b, n := range slot {
			w.total[b] -= n
			w.n -= int(n)
		}
		*slot = [buckets]uint32{}
	}
	w.second = second
}

// quantiles returns the median and the 99th percentile, each rounded up to the
// edge of its bucket: a margin may be a little long, never short.
func (w *window) quantiles() (p50, p99 time.Duration) {
	rank50, rank99 := (w.n+1)/2, w.n-w.n/100
	below := 0
	for b, n := range w.total {
		if n == 0 {
			continue
		}
		before := below
		below += int(n)
		if before < rank50 && below >= rank50 {
			p50 = upperEdge(b)
		}
		if below >= rank99 {
			return p50, upperEdge(b)
		}
	}
	return p50, p99
}

func slotOf(second int64) int { return int((second%windowSlots + windowSlots) % windowSlots) }

// bucketOf keeps the seven leading bits of the duration in microseconds.
func bucketOf(d time.Duration) int {
	us := uint64(max(0, min(d, maxSample)) / time.Microsecond)
	shift := max(0, bits.Len64(us)-7)
	return shift*subBuckets + int(us>>shift)
}

// upperEdge returns the first duration beyond bucket b.
func upperEdge(b int) time.Duration {
	shift := max(0, b/subBuckets-1)
	return time.Duration(b-shift*subBuckets+1) << shift * time.Microsecond
}
