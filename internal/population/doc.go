// Package population is a group of users that behave alike: their shared gates,
// and the requests that they have under way. It turns arrivals (open loop) or
// users with think time (closed loop) into attempts, and reports each request from
// the wish to its end as ledger events of the client's view.
//
// The driver sends what Host.Send says, keeps the timers that Host.Wake asks for,
// and tells the group what happened. Each request ends exactly once; each attempt
// that was handed to Send and sent is answered exactly once, unless Close ends its
// request first.
package population
