package scenario

import (
	"bytes"
	"fmt"
	"strconv"

	"shedload/internal/work"
)

// Bounds on a recorded trace.
const (
	maxTraceBytes = 16 << 20
	maxArrivals   = 1_000_000
)

// parseTrace reads recorded arrivals: one a line, in whole nanoseconds since the
// start, never going back. Empty lines and lines that begin with # do not count.
func parseTrace(text []byte) ([]work.Instant, error) {
	if len(text) > maxTraceBytes {
		return nil, fmt.Errorf("%d bytes: at most %d are read", len(text), maxTraceBytes)
	}
	var out []work.Instant
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] == '#' {
			continue
		}
		ns, err := strconv.ParseInt(string(raw), 10, 64)
		switch {
		case err != nil || ns < 0:
			return nil, fmt.Errorf("line %d: %.40q is not an arrival: allowed are whole ns since the start", line, raw)
		case len(out) > 0 && work.Instant(ns) < out[len(out)-1]:
			return nil, fmt.Errorf("line %d: %d ns is before the arrival above it", line, ns)
		case len(out) == maxArrivals:
			return nil, fmt.Errorf("line %d: at most %d arrivals are read", line, maxArrivals)
		}
		out = append(out, work.Instant(ns))
	}
	return out, nil
}
