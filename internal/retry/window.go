package retry

import (
	"time"

	"shedload/internal/work"
)

// windowSlices is in how many pieces old counts leave a window.
const windowSlices = 60

// window counts two kinds of things over a sliding time. A thing counts for the
// whole window, less at most one sixtieth. An instant before the last one counts
// as the last one. The zero width never forgets.
type window struct {
	width   time.Duration // of a slice
	current int64         // number of the newest slice
	sum     [2]int64
	slices  [windowSlices][2]int64
}

// newWindow returns a window of length d; d = 0 never forgets.
func newWindow(d time.Duration) window { return window{width: d / windowSlices} }

// add counts n things of a kind at now.
func (w *window) add(now work.Instant, kind int, n int64) {
	w.roll(now)
	w.sum[kind] += n
	w.slices[w.current%windowSlices][kind] += n
}

// roll forgets what has left the window by now.
func (w *window) roll(now work.Instant) {
	if w.width == 0 {
		return
	}
	newest := int64(now) / int64(w.width)
	if newest-w.current >= windowSlices {
		*w = window{width: w.width, current: newest}
		return
	}
	for ; w.current < newest; w.current++ {
		old := &w.slices[(w.current+1)%windowSlices]
		w.sum[0] -= old[0]
		w.sum[1] -= old[1]
		*old = [2]int64{}
	}
}

// clear forgets everything.
func (w *window) clear() { *w = window{width: w.width, current: w.current} }
