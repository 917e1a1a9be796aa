// Package deadline carries a client's deadline from hop to hop as the time that
// is left, so that no two clocks need to agree. What travels is rounded down and
// each hop sends on what is left of what it got: a deadline shrinks on its way
// and never grows.
package deadline

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Ceiling is the longest time that is believed: whoever asks for more gets this.
const Ceiling = time.Hour

const (
	// wholeDigits keeps every accepted value within a time.Duration.
	wholeDigits   = 12
	decimalDigits = 3
)

var errMilliseconds = errors.New("allowed are milliseconds with up to 12 digits and up to 3 decimals, such as 949.731")

// Format returns d in milliseconds with at most 3 decimals, rounded down; "0"
// when nothing is left.
func Format(d time.Duration) string {
	var room [24]byte
	return string(Append(room[:0], d))
}

// Append appends what Format returns to b.
func Append(b []byte, d time.Duration) []byte {
	us := max(0, d.Microseconds())
	b = strconv.AppendInt(b, us/1000, 10)
	part := us % 1000
	if part == 0 {
		return b
	}
	b = append(b, '.')
	for unit := int64(100); part > 0; unit /= 10 {
		b = append(b, byte('0'+part/unit))
		part %= unit
	}
	return b
}

// ParseMs reads what Format writes: milliseconds, digits only, with at most 3
// decimals. There is no sign, exponent or space, and no upper bound but the
// number of digits.
func ParseMs(text string) (time.Duration, error) {
	whole, part, point := strings.Cut(text, ".")
	ms, ok := digits(whole, wholeDigits)
	if !ok {
		return 0, errMilliseconds
	}
	d := time.Duration(ms) * time.Millisecond
	if !point {
		return d, nil
	}
	us, ok := digits(part, decimalDigits)
	if !ok {
		return 0, errMilliseconds
	}
	for range decimalDigits - len(part) {
		us *= 10
	}
	return d + time.Duration(us)*time.Microsecond, nil
}

// digits reads a decimal number of 1 to most digits and nothing else.
func digits(text string, most int) (int64, bool) {
	if len(text) == 0 || len(text) > most {
		return 0, false
	}
	var n int64
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
