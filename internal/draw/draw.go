// Package draw is shedload's only source of randomness. Every draw is a function
// of (seed, purpose, client, request, attempt) and never the next number of a
// shared stream, so the order in which things happen cannot change what is drawn:
// all variants of a scenario, and both engines, see the same draws.
//
// The numbers are the same on every architecture: integers, or floating point in
// which each product is rounded explicitly, so that no compiler may fuse it.
package draw

// Seed selects one family of draws: the seed of a scenario.
type Seed uint64

// Purpose keeps draws that are made for different reasons apart.
type Purpose uint8

// The purposes.
const (
	Arrival Purpose = iota + 1
	ClassOf
	Service
	Backoff
	Throttle
	Think
	Client
)

// Key names what a draw is made for.
type Key struct {
	Purpose Purpose
	// Client is the index of the client group.
	Client uint16
	// Request numbers the request, or the arrival.
	Request uint64
	// Attempt counts from 1; 0 where there is none.
	Attempt uint16
}

// Rand is a short stream of random numbers for one decision. The zero value is
// usable but always the same stream. It is SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", 2014). Not safe for
// concurrent use; copy it instead.
type Rand struct{ state uint64 }

// For returns the stream that belongs to k.
func (s Seed) For(k Key) Rand {
	h := mix(uint64(s) + golden)
	h = mix(h ^ (uint64(k.Purpose)<<32 | uint64(k.Client)<<16 | uint64(k.Attempt)))
	return Rand{state: mix(h + k.Request*golden)}
}

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.state += golden
	return mix(r.state)
}
