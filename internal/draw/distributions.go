package draw

import (
	"math/bits"
	"time"
)

// One is the number 1 in the fixed point of Exponential and Normal: 32 bits
// stand behind the point.
const One = 1 << 32

// Below returns a number in [0, n), each equally likely; 0 for n = 0. (Lemire,
// "Fast random integer generation in an interval", 2019.)
func (r *Rand) Below(n uint64) uint64 {
	high, low := bits.Mul64(r.Uint64(), n)
	if low < n {
		// Of the 2^64 inputs the first 2^64 mod n are one too many.
		for excess := -n % n; low < excess; {
			high, low = bits.Mul64(r.Uint64(), n)
		}
	}
	return high
}

// Float64 returns a multiple of 2^-53 in [0, 1). The scaling is exact; a caller
// who goes on with it writes each product as float64(a * b), so that it is not
// fused with an addition on some architectures.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// Exponential returns a number with the exponential distribution of mean 1, in
// units of 1/One. It only compares integers (von Neumann, "Various techniques
// used in connection with random digits", 1951): a falling run of uniform
// numbers that begins with u has odd length with probability exp(-u), and each
// run of even length adds a whole 1.
func (r *Rand) Exponential() uint64 {
	for whole := uint64(0); ; whole += One {
		first := r.Uint64()
		odd := true
		for last, next := first, r.Uint64(); next < last; last, next = next, r.Uint64() {
			odd = !odd
		}
		if odd {
			return whole + first>>32
		}
	}
}

// Normal returns a number with the normal distribution of mean 0 and variance 1,
// in units of 1/One. An exponential draw x is kept with probability
// exp(-(x-1)²/2), which a second exponential draw decides, and gets a random
// sign (Devroye, "Non-Uniform Random Variate Generation", 1986, section IV.2).
func (r *Rand) Normal() int64 {
	for {
		x := int64(r.Exponential())
		distance := uint64(max(x-One, One-x))
		high, low := bits.Mul64(distance, distance)
		if high >= One { // (x-1)² beyond 2^32: never seen, and never kept
			continue
		}
		if halfSquare := high<<31 | low>>33; r.Exponential() < halfSquare {
			continue
		}
		if r.Uint64()>>63 == 1 {
			return -x
		}
		return x
	}
}

// ExponentialTime returns an exponential time with the given mean, which is at
// most 2^57 ns, rounded down to whole nanoseconds.
func (r *Rand) ExponentialTime(mean time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(mean), r.Exponential())
	return time.Duration(high<<32 | low>>32)
}
