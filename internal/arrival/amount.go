package arrival

import "math/bits"

// amount is a number of arrivals, in units of 10^-15: one millionth of an arrival
// a second, for one nanosecond. In this unit the integral of a constant rate is a
// whole number. 128 bits hold 3·10^23 arrivals.
type amount struct{ high, low uint64 }

const perArrival = 1e15

// whole is one arrival.
var whole = amount{low: perArrival}

// fromFixed converts from a number with 32 bits behind the point, rounding down.
func fromFixed(x uint64) amount {
	high, low := bits.Mul64(x, perArrival)
	return amount{high >> 32, high<<32 | low>>32}
}

func (a amount) plus(b amount) amount {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return amount{high, low}
}

// minus returns a - b; 0 where b is larger.
func (a amount) minus(b amount) amount {
	if a.less(b) {
		return amount{}
	}
	low, borrow := bits.Sub64(a.low, b.low, 0)
	high, _ := bits.Sub64(a.high, b.high, borrow)
	return amount{high, low}
}

func (a amount) less(b amount) bool {
	return a.high < b.high || (a.high == b.high && a.low < b.low)
}

// float returns a rounded to 53 bits.
func (a amount) float() float64 { return float64(float64(a.high)*0x1p64) + float64(a.low) }
