// Package ledger is the one place where shedload counts. Drivers report what
// happens as [Event] values; totals, rows, windows, latencies, conservation,
// state and verdict derive from them and from nothing else.
//
// There are two views. The server's (Arrived … Stale, Sampled) says what became
// of each attempt; the client's (Wished … Ended) says what became of each
// request. A simulation records both in one [Ledger]; a live run records the
// server's in the API server and the client's in the load generator, which
// takes the server's over with [Ledger.Merge]. The result is the same.
//
// Conservation: every attempt that arrived ends in exactly one place,
//
//	arrived = refused + dropped + on time + late + failed + canceled + lost + pending
//
// A Ledger is bounded: its memory depends on its [Config], not on time or load.
// It is not safe for concurrent use; a driver guards it with its own lock.
package ledger
