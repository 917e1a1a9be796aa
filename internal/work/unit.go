package work

// Unit is the piece of work that one operation puts on the queue. It is a plain
// value without pointers: 40 bytes, so that hundreds of thousands of queued
// units cost neither allocations nor garbage-collector time.
type Unit struct {
	// ID numbers the operation. IDs grow with arrival: a unit that arrived
	// later has the larger ID.
	ID uint64
	// Request numbers the request that the unit is an attempt of.
	Request uint64
	// Enqueued is the arrival at the server (not the end of a wait at the door).
	Enqueued Instant
	// Deadline is the last instant at which an answer is on time; Never without one.
	Deadline Instant
	// Attempt counts the tries of the request, from 1.
	Attempt uint16
	// Class is an index into the configured classes; 0 when there are none.
	Class uint8
}

// MaxClasses bounds the classes of a scenario or server.
const MaxClasses = 64
