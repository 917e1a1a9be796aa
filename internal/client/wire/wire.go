// Package wire reads HTTP/1.1 responses with the few allocations and the little
// memory that thousands of waiting connections ask for. It understands what an
// impatient client needs to know of an answer and nothing else, and it is strict:
// what it accepts, net/http accepts as well.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// The bounds of a response.
const (
	MaxHead   = 16 << 10 // status line and header fields, or trailer fields, in bytes
	MaxInfo   = 8        // informational (1xx) responses before the real one
	MaxKept   = 4 << 10  // bytes of body that are kept, of error responses only
	MaxBody   = 8 << 20  // bytes of body, all of them read
	startSize = 512      // bytes of buffer, enough for the answers of our own server
)

// ErrMalformed is in the chain of every error that means "not an HTTP/1.1 response".
var ErrMalformed = errors.New("malformed response")

// ErrTooLarge is in the chain of every error that means that a bound was passed.
var ErrTooLarge = errors.New("response too large")

// ErrNotReady is what a source that does not block returns when it has nothing to
// read. Next returns it as it is, and goes on from there when it is called again.
var ErrNotReady = errors.New("nothing to read yet")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// Reply is what is kept of a response.
type Reply struct {
	Status int
	// RetryAfter is the field's raw value; it and Body are valid until the next call of Next.
	RetryAfter []byte
	// DoNotRetry: X-Do-Not-Retry is "true".
	DoNotRetry bool
	// Close: the connection cannot carry another exchange.
	Close bool
	// Body holds the first bytes of the body if Status is 400 or more.
	Body []byte
}

// Reader reads the responses of one connection, one state after the other, so that
// it can stop anywhere and go on. It is not safe for concurrent use.
type Reader struct {
	src  io.Reader
	buf  []byte
	r, w int // what was read and not yet consumed is buf[r:w]

	state      state
	reply      Reply
	info       int   // informational responses so far
	head       int   // bytes of head or trailer so far
	length     int64 // of the body; -1 when not said
	chunked    bool
	old        bool  // HTTP/1.0
	left       int64 // bytes of the body or chunk to come
	total      int64 // bytes of chunks so far
	kept       []byte
	retryAfter []byte
}

// state is what comes next.
type state uint8

const (
	statusLine state = iota
	headerField
	bodyData
	untilClose // body data, to the end of the connection
	chunkSize
	chunkData
	chunkEnd
	trailerField
	complete
)

// NewReader returns a Reader of src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, startSize)}
}

// Buffered reports whether bytes of a next response have been read already.
func (r *Reader) Buffered() bool { return r.r < r.w }

// Next reads one response, its body included. The error is io.EOF when the
// connection ended before a response began, io.ErrUnexpectedEOF when it ended
// within one, and otherwise wraps ErrMalformed, ErrTooLarge or what reading the
// source returned. After any error but ErrNotReady the Reader is of no more use.
func (r *Reader) Next(reply *Reply) error {
	for r.state != complete {
		err := r.step()
		switch {
		case err == nil:
		case err != io.EOF:
			return err
		case r.state == untilClose:
			r.state = complete
		case r.state == statusLine && r.info == 0 && r.r == r.w:
			return io.EOF
		default:
			return io.ErrUnexpectedEOF
		}
	}
	*reply = r.reply
	reply.Body, reply.RetryAfter = r.kept, r.retryAfter
	r.state, r.info = statusLine, 0
	return nil
}

// step consumes one line or one piece of data.
func (r *Reader) step() error {
	switch r.state {
	case bodyData, untilClose, chunkData:
		return r.data()
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	switch r.state {
	case statusLine:
		return r.begin(line)
	case headerField:
		if len(line) == 0 {
			return r.headEnds()
		}
		return r.field(line)
	case chunkSize:
		return r.chunk(line)
	case chunkEnd:
		if len(line) > 0 {
			return malformed("a chunk is longer than it says")
		}
		r.state, r.head = chunkSize, 0
		return nil
	default: // trailerField
		if len(line) == 0 {
			r.state = complete
			return nil
		}
		_, _, err := splitField(line)
		return err
	}
}

// fill reads more bytes behind those that are there.
func (r *Reader) fill() error {
	switch {
	case r.r == r.w:
		r.r, r.w = 0, 0
	case r.w == len(r.buf) && r.r > 0:
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	case r.w == len(r.buf):
		if len(r.buf) >= MaxHead {
			return fmt.Errorf("%w: a line of over %d bytes", ErrTooLarge, MaxHead)
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	for range 8 {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if n > 0 {
			return nil // an error with bytes comes again
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// line consumes the next line and returns it without its CR LF, valid until the next read.
func (r *Reader) line() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(r.buf[r.r+seen:r.w], '\n'); i >= 0 {
			line := r.buf[r.r : r.r+seen+i]
			r.r += len(line) + 1
			if r.head += len(line) + 1; r.head > MaxHead {
				return nil, fmt.Errorf("%w: a head of over %d bytes", ErrTooLarge, MaxHead)
			}
			if len(line) == 0 || line[len(line)-1] != '\r' {
				return nil, malformed("a line ends without CR")
			}
			return line[:len(line)-1], nil
		}
		seen = r.w - r.r
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}
