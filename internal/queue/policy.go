package queue

import "shedload/internal/work"

// End names one end of the queue in order of arrival.
type End uint8

// The ends.
const (
	Oldest End = iota
	Newest
)

// View is what a policy may know about the queue besides the unit it judges.
type View struct {
	// Len is the number of units queued, the judged one included; never 0.
	Len int
	// Workers is the number of workers that the queue feeds; 0 when unknown.
	Workers int
	// Oldest is the arrival of the oldest unit queued.
	Oldest work.Instant
	// BusySince is the instant at which the queue last stopped being empty.
	BusySince work.Instant
}

// Order picks the end that is served next.
type Order interface {
	Next(v View, now work.Instant) End
}

// Keyed is an order by a property of the unit: the smallest key is served first,
// equal keys in order of arrival.
type Keyed interface {
	Key(u work.Unit) int64
}

// Shed judges one unit. None keeps it; any other reason takes it off the queue.
// A shed that judges by the time waited may keep state: at each Take it is asked
// about the oldest unit, and about the next one only when it dropped that.
type Shed interface {
	Drop(u work.Unit, v View, now work.Instant) work.Reason
}

// Dropped is told of each unit that leaves the queue without being taken, while
// the call that dropped it is still running. It must not call the queue.
type Dropped func(u work.Unit, r work.Reason)
