package wire

import "fmt"

// data consumes what there is of a body or chunk, and keeps the beginning of the
// body if it explains an error.
func (r *Reader) data() error {
	if r.r == r.w {
		if err := r.fill(); err != nil {
			return err
		}
	}
	part := r.buf[r.r:r.w]
	part = part[:min(int64(len(part)), r.left)]
	if r.reply.Status >= 400 {
		r.kept = append(r.kept, part[:min(len(part), MaxKept-len(r.kept))]...)
	}
	r.r += len(part)
	if r.left -= int64(len(part)); r.left > 0 {
		return nil
	}
	switch r.state {
	case untilClose:
		return fmt.Errorf("%w: a body of %d bytes or more without an end", ErrTooLarge, MaxBody)
	case chunkData:
		r.state = chunkEnd
	default:
		r.state = complete
	}
	return nil
}

// chunk takes in the line before a chunk's data.
func (r *Reader) chunk(line []byte) error {
	n, err := parseChunkSize(line)
	if err != nil {
		return err
	}
	if n == 0 {
		r.state, r.head = trailerField, 0
		return nil
	}
	if r.total += n; r.total > MaxBody {
		return fmt.Errorf("%w: a body of over %d bytes", ErrTooLarge, MaxBody)
	}
	r.state, r.left = chunkData, n
	return nil
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
