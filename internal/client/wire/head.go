package wire

import (
	"bytes"
	"fmt"
)

// framing is what the head says about the length of the body.
type framing struct {
	length  int64 // of the body; -1 when not said
	chunked bool
	old     bool // HTTP/1.0
}

// readHead reads a status line and the header fields.
func (r *Reader) readHead(reply *Reply, f *framing) error {
	r.head, r.retryAfter, r.kept = 0, r.retryAfter[:0], r.kept[:0]
	*reply = Reply{}
	line, err := r.line()
	if err != nil {
		return err
	}
	if f.old, err = parseStatus(line, reply); err != nil {
		return err
	}
	reply.Close = f.old
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			break
		}
		if err := r.field(line, reply, f); err != nil {
			return err
		}
	}
	switch {
	case f.chunked && f.length >= 0:
		return malformed("both Content-Length and Transfer-Encoding")
	case f.chunked && f.old:
		return malformed("Transfer-Encoding in HTTP/1.0")
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

// field reads one header field. Those that do not matter are only checked for form.
func (r *Reader) field(line []byte, reply *Reply, f *framing) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return malformed("header field %.40q", line)
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	for _, c := range name {
		if !tokenByte[c] {
			return malformed("header name %.40q", name)
		}
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return malformed("header value %.40q", value)
		}
	}
	switch {
	case is(name, "content-length"):
		n, err := parseLength(value)
		if err != nil {
			return err
		}
		if f.length >= 0 && f.length != n {
			return malformed("two values of Content-Length")
		}
		f.length = n
	case is(name, "transfer-encoding"):
		if f.chunked || !is(value, "chunked") {
			return malformed("Transfer-Encoding %.40q", value)
		}
		f.chunked = true
	case is(name, "connection"):
		reply.Close = reply.Close || hasToken(value, "close")
	case is(name, "retry-after"):
		if len(r.retryAfter) == 0 { // the first of several counts, as in net/http
			r.retryAfter = append(r.retryAfter, value...)
			reply.RetryAfter = r.retryAfter
		}
	case is(name, "x-do-not-retry"):
		reply.DoNotRetry = is(value, "true")
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
