package report

import (
	"math"
	"strconv"
	"strings"
)

// Count writes a whole number with thousands separated.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// figure writes a number as short as it can be said: whole from 100 on, with one
// decimal from 10 on, else with two.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95:
		return Count(int64(math.Round(x)))
	case a >= 9.995:
		return trimmed(x, 1)
	}
	return trimmed(x, 2)
}

func trimmed(x float64, decimals int) string {
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
}

// millis writes milliseconds, and seconds where those read better.
func millis(ms float64) string {
	if ms >= 10_000 {
		return figure(ms/1000) + " s"
	}
	return figure(ms) + " ms"
}

// Bytes writes an amount of memory in whole megabytes, rounded up.
func Bytes(bytes int64) string { return Count((bytes+(1<<20)-1)>>20) + " MB" }
