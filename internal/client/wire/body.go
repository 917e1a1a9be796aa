package wire

import (
	"fmt"
	"io"
)

// readBody reads the body to its end and keeps the beginning if it explains an error.
func (r *Reader) readBody(reply *Reply, f framing) error {
	keep := reply.Status >= 400
	var err error
	switch {
	case reply.Status == 204 || reply.Status == 304:
	case f.chunked:
		err = r.chunks(keep)
	case f.length >= 0:
		err = r.body(f.length, keep)
	default:
		// Without a length the body lasts as long as the connection.
		reply.Close = true
		err = r.body(MaxBody, keep)
		switch err {
		case io.EOF:
			err = nil
		case nil:
			err = fmt.Errorf("%w: a body of %d bytes or more without an end", ErrTooLarge, MaxBody)
		}
	}
	reply.Body = r.kept
	return err
}

// body reads n bytes.
func (r *Reader) body(n int64, keep bool) error {
	for n > 0 {
		if err := r.Peek(); err != nil {
			return err
		}
		part := r.buf[r.r:r.w]
		if int64(len(part)) > n {
			part = part[:n]
		}
		if keep {
			r.kept = append(r.kept, part[:min(len(part), MaxKept-len(r.kept))]...)
		}
		r.r += len(part)
		n -= int64(len(part))
	}
	return nil
}

// chunks reads a body in the chunked transfer coding, and its trailer fields.
func (r *Reader) chunks(keep bool) error {
	var total int64
	for {
		r.head = 0
		line, err := r.line()
		if err != nil {
			return err
		}
		n, err := parseChunkSize(line)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if total += n; total > MaxBody {
			return fmt.Errorf("%w: a body of over %d bytes", ErrTooLarge, MaxBody)
		}
		if err := r.body(n, keep); err != nil {
			return err
		}
		if line, err = r.line(); err != nil {
			return err
		} else if len(line) > 0 {
			return malformed("a chunk is longer than it says")
		}
	}
	for {
		line, err := r.line()
		if err != nil || len(line) == 0 {
			return err
		}
		var ignored Reply
		if err := (&Reader{}).field(line, &ignored, &framing{length: -1}); err != nil {
			return err
		}
	}
}

// parseChunkSize reads hexadecimal digits. Chunk extensions are refused: nobody
// sends them, and they are a known way to disagree about where a body ends.
func parseChunkSize(line []byte) (int64, error) {
	if len(line) == 0 || len(line) > 8 {
		return 0, malformed("chunk size %.40q", line)
	}
	var n int64
	for _, c := range line {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, malformed("chunk size %.40q", line)
		}
		n = n<<4 | int64(c)
	}
	return n, nil
}
