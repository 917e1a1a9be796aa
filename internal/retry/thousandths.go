package retry

import (
	"fmt"
	"strconv"
	"strings"
)

// Thousandths is a decimal number with three decimals, kept exactly: 1500 is 1.5.
// Tokens and ratios are counted in it, because the binary fraction next to 0.1
// adds up to other sums, and gave other numbers than the published ones.
type Thousandths int64

// One is the number 1.
const One Thousandths = 1000

// maxThousandths keeps every product of a ratio and a count of attempts far from overflow.
const maxThousandths = 1_000_000 * One

// ParseThousandths reads a decimal number such as 10, 0.1 or 2.125: digits with at
// most three behind the point, no sign, at most 1000000.
func ParseThousandths(text string) (Thousandths, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if !digits(whole) || (point && !digits(fraction)) || len(fraction) > 3 {
		return 0, fmt.Errorf("%q is not a number with at most three decimals, such as 10 or 0.125", text)
	}
	n, err := strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
	if err != nil || Thousandths(n) > maxThousandths {
		return 0, fmt.Errorf("%s is outside 0 to %s", text, maxThousandths)
	}
	return Thousandths(n), nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String returns the shortest text form.
func (t Thousandths) String() string {
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	text := fmt.Sprintf("%s%d.%03d", sign, t/One, t%One)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Float64 returns t as a binary fraction, for metrics alone.
func (t Thousandths) Float64() float64 { return float64(t) / float64(One) }

// MarshalText returns the shortest text form.
func (t Thousandths) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON returns a JSON number.
func (t Thousandths) MarshalJSON() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what ParseThousandths reads.
func (t *Thousandths) UnmarshalText(text []byte) error {
	n, err := ParseThousandths(string(text))
	if err == nil {
		*t = n
	}
	return err
}
