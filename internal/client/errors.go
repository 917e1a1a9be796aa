package client

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"shedload/internal/client/wire"
)

// errorKind is why an attempt got no answer: a closed set, for the record of a run.
type errorKind uint8

// The kinds.
const (
	kindDialRefused  errorKind = iota // nobody listens
	kindDialTimeout                   // no connection within DialTimeout
	kindDialFailed                    // no connection for another reason
	kindNoConnection                  // no connection was free before the deadline
	kindTooLate                       // the generator came to it after the deadline
	kindReset                         // the connection broke
	kindClosedEarly                   // the server closed the connection without an answer
	kindMalformed                     // the answer was not HTTP, or over a bound
	kindBadStatus                     // a status that the API does not have
	kindOther
	numErrorKinds
)

var errorNames = [numErrorKinds]string{
	"dial_refused", "dial_timeout", "dial_failed", "no_connection", "too_late",
	"reset", "closed_early", "malformed_answer", "bad_status", "other",
}

// String returns the text form.
func (k errorKind) String() string { return errorNames[k] }

// kindOf sorts an error of an exchange.
func kindOf(err error) errorKind {
	var dial *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial", errors.As(err, &dns):
		return dialKind(err)
	case errors.Is(err, wire.ErrMalformed), errors.Is(err, wire.ErrTooLarge):
		return kindMalformed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return kindClosedEarly
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return kindReset
	}
	return kindOther
}

func dialKind(err error) errorKind {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return kindDialRefused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return kindDialTimeout
	}
	return kindDialFailed
}
