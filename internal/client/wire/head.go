package wire

import (
	"bytes"
	"fmt"
)

// begin takes in a status line.
func (r *Reader) begin(line []byte) (err error) {
	r.reply, r.retryAfter, r.kept = Reply{}, r.retryAfter[:0], r.kept[:0]
	r.length, r.chunked, r.total = -1, false, 0
	r.old, err = parseStatus(line, &r.reply)
	r.reply.Close = r.old
	r.state = headerField
	return err
}

// headEnds decides what follows the head.
func (r *Reader) headEnds() error {
	r.head = 0
	switch status := r.reply.Status; {
	case r.chunked && r.length >= 0:
		return malformed("both Content-Length and Transfer-Encoding")
	case r.chunked && r.old:
		return malformed("Transfer-Encoding in HTTP/1.0")
	case status == 101:
		return malformed("status 101: nobody asked for another protocol")
	case status < 200:
		if r.info++; r.info > MaxInfo {
			return fmt.Errorf("%w: over %d informational responses", ErrTooLarge, MaxInfo)
		}
		r.state = statusLine
	case status == 204 || status == 304 || r.length == 0:
		r.state = complete
	case r.chunked:
		r.state = chunkSize
	case r.length > 0:
		r.state, r.left = bodyData, r.length
	default:
		// Without a length the body lasts as long as the connection.
		r.state, r.left, r.reply.Close = untilClose, MaxBody, true
	}
	return nil
}

// parseStatus reads a status line; old means HTTP/1.0.
func parseStatus(line []byte, reply *Reply) (old bool, err error) {
	const form = "HTTP/1.1 200"
	if len(line) < len(form) || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' ||
		(len(line) > len(form) && line[len(form)] != ' ') {
		return false, malformed("status line %.40q", line)
	}
	if line[7] != '0' && line[7] != '1' {
		return false, malformed("version %.8q", line)
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false, malformed("status %.3q", line[9:12])
		}
		reply.Status = reply.Status*10 + int(c-'0')
	}
	if reply.Status < 100 {
		return false, malformed("status %.3q", line[9:12])
	}
	return line[7] == '0', nil
}

// splitField checks the form of a header field.
func splitField(line []byte) (name, value []byte, err error) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil, nil, malformed("header field %.40q", line)
	}
	name, value = line[:colon], bytes.Trim(line[colon+1:], " \t")
	for _, c := range name {
		if !tokenByte[c] {
			return nil, nil, malformed("header name %.40q", name)
		}
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return nil, nil, malformed("header value %.40q", value)
		}
	}
	return name, value, nil
}

// field takes in a header field.
func (r *Reader) field(line []byte) error {
	name, value, err := splitField(line)
	switch {
	case err != nil:
		return err
	case is(name, "content-length"):
		n, err := parseLength(value)
		if err != nil {
			return err
		}
		if r.length >= 0 && r.length != n {
			return malformed("two values of Content-Length")
		}
		r.length = n
	case is(name, "transfer-encoding"):
		if r.chunked || !is(value, "chunked") {
			return malformed("Transfer-Encoding %.40q", value)
		}
		r.chunked = true
	case is(name, "connection"):
		r.reply.Close = r.reply.Close || hasToken(value, "close")
	case is(name, "retry-after"):
		if len(r.retryAfter) == 0 { // the first of several counts, as in net/http
			r.retryAfter = append(r.retryAfter, value...)
		}
	case is(name, "x-do-not-retry"):
		r.reply.DoNotRetry = is(value, "true")
	}
	return nil
}

func parseLength(value []byte) (int64, error) {
	if len(value) == 0 || len(value) > 18 {
		return 0, malformed("Content-Length %.40q", value)
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, malformed("Content-Length %.40q", value)
		}
		n = n*10 + int64(c-'0')
	}
	if n > MaxBody {
		return 0, fmt.Errorf("%w: a body of %d bytes, at most %d are read", ErrTooLarge, n, MaxBody)
	}
	return n, nil
}

// is compares without regard to the case of ASCII letters; lower is in lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// hasToken looks for a member of a comma-separated list.
func hasToken(list []byte, lower string) bool {
	for member := range bytes.SplitSeq(list, []byte(",")) {
		if is(bytes.Trim(member, " \t"), lower) {
			return true
		}
	}
	return false
}

// tokenByte tells the bytes of a token (RFC 9110, section 5.6.2).
var tokenByte = func() (t [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t[c] = true
	}
	return t
}()
