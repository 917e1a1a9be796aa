package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	significantDigits = 3
	maxEncoded        = 1 << 20 // bytes of an encoded histogram that are looked at
)

// Histogram is an HdrHistogram of durations with 3 significant digits, recorded
// in whole units of a resolution, rounded half up. Its text form is
// HdrHistogram's own (V2, compressed, base64), in those units.
type Histogram struct {
	unit time.Duration
	hdr  *hdrhistogram.Histogram
}

func newHistogram(unit time.Duration) *Histogram {
	return &Histogram{unit: unit, hdr: hdrhistogram.New(1, int64(LongestRecord/unit), significantDigits)}
}

// record adds d, n times. Negative durations count as 0, longer ones than LongestRecord as that.
func (h *Histogram) record(d time.Duration, n int64) {
	d = min(max(d, 0), LongestRecord)
	var v int64
	if h.unit == time.Microsecond { // a constant divisor is several times cheaper
		v = int64((d + time.Microsecond/2) / time.Microsecond)
	} else {
		v = int64((d + h.unit/2) / h.unit)
	}
	_ = h.hdr.RecordValues(v, n) // cannot fail: 0 <= v <= the highest trackable value
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// Quantiles returns median, 99th percentile and maximum; zeros when empty.
// As in every HdrHistogram each is the highest value of its bucket.
func (h *Histogram) Quantiles() Quantiles {
	if h.Count() == 0 {
		return Quantiles{}
	}
	ms := func(v int64) float64 { return float64(v) * (float64(h.unit) / float64(time.Millisecond)) }
	return Quantiles{
		P50: ms(h.percentile(50)),
		P99: ms(h.percentile(99)),
		Max: ms(h.hdr.Max()),
	}
}

// percentile returns the value of the rank that lies at so many per cent, rounded
// half up. HdrHistogram finds the rank in floating point, and where its product is
// fused with the addition a rank that ends in one half is another one; so it is
// found here, and handed over a little below, where nothing depends on rounding.
func (h *Histogram) percentile(percent int64) int64 {
	n := h.Count()
	rank := max(1, (percent*n+50)/100)
	return h.hdr.ValueAtPercentile(100 * (float64(rank) - 0.25) / float64(n))
}

func (h *Histogram) clone() *Histogram { return &Histogram{unit: h.unit, hdr: h.hdr.Clone()} }

// MarshalText encodes h. It is the slow part of a snapshot: call it outside the driver's lock.
func (h *Histogram) MarshalText() ([]byte, error) {
	return h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText decodes what MarshalText wrote; its resolution is that of the ledger that takes it.
func (h *Histogram) UnmarshalText(text []byte) error {
	if len(text) > maxEncoded {
		return fmt.Errorf("histogram of %d bytes: at most %d are allowed", len(text), maxEncoded)
	}
	decoded, err := hdrhistogram.Decode(text)
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	h.hdr = decoded
	return nil
}

// adopt returns h as a histogram in units of unit, or why it cannot be one.
func (h *Histogram) adopt(unit time.Duration) (*Histogram, error) {
	if h == nil || h.hdr == nil {
		return nil, errors.New("histogram is missing")
	}
	want := int64(LongestRecord / unit)
	if h.hdr.LowestTrackableValue() != 1 || h.hdr.HighestTrackableValue() != want || h.hdr.SignificantFigures() != significantDigits {
		return nil, fmt.Errorf("histogram spans %d to %d with %d digits: 1 to %d with %d is allowed", h.hdr.LowestTrackableValue(),
			h.hdr.HighestTrackableValue(), h.hdr.SignificantFigures(), want, significantDigits)
	}
	return &Histogram{unit: unit, hdr: h.hdr}, nil
}
