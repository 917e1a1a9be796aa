// Package retry is a client as a pure state machine: how long it waits for an
// attempt, what it tries again, how often, how long it pauses before, and which
// gates (retry budgets, adaptive throttle, circuit breaker) may tell it not to.
//
// A Policy is what all calls of one client share. A Call is one request under way.
// Its Step turns what happened (the request begins, an answer came, a time that
// was asked for is here) into what to do (send, wait, stop). Nothing here sends,
// sleeps or counts: that is the driver's.
//
// Nothing in this package is safe for concurrent use; a driver with several
// goroutines keeps a Policy and all its Calls under one lock.
package retry
