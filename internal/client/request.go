package client

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"shedload/internal/deadline"
	"shedload/internal/population"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// The header fields of an attempt, besides deadline.Header.
const (
	headerRequestID   = "X-Request-Id"
	headerAttempt     = "X-Attempt"
	headerClass       = "X-Class"
	headerCriticality = "X-Criticality"
	headerKey         = "Idempotency-Key"
	headerPrefer      = "Prefer"
	headerDoNotRetry  = "X-Do-Not-Retry"
	operationsPath    = "/v1/operations"
)

// minLeft is the shortest time left that can be told to a server: less is rounded
// down to nothing.
const minLeft = time.Microsecond

// requestForm is what the requests of a group have in common.
type requestForm struct {
	method, url string
	header      http.Header   // of every request, without those of its class
	classes     []http.Header // by class
	heads       [][]byte      // by class: request line and all of the above, for raw connections
	key         string        // prefix of idempotency keys; "" when nothing is resumed
	numbered    bool          // requests carry their number and attempt
	body        []byte
}

func (g *Generator) requestForm(spec *Group) requestForm {
	f := requestForm{method: http.MethodPost, header: http.Header{}, numbered: true, classes: []http.Header{{}}}
	target := *g.target
	if spec.Wait == scenario.WaitPlain {
		f.method, f.body, f.numbered = spec.Plain.Method, spec.Plain.Body, false
		for name, values := range spec.Plain.Header {
			f.header[name] = values
		}
	} else {
		target.Path = strings.TrimSuffix(target.Path, "/") + operationsPath
		if spec.Wait != scenario.WaitPoll {
			f.header.Set(headerPrefer, waitFor(spec.Population.Patience))
		}
		if spec.Population.Retry.Resume {
			// Keys of different runs must not meet in a server that keeps running.
			f.key = rand.Text()[:8]
		}
		f.classes = classHeaders(g.config.Classes)
	}
	f.url = target.String()
	path := target.RequestURI()
	for _, class := range f.classes {
		f.heads = append(f.heads, f.head(path, target.Host, class))
	}
	return f
}

func classHeaders(classes []work.Class) []http.Header {
	if len(classes) == 0 {
		return []http.Header{{}}
	}
	headers := make([]http.Header, len(classes))
	for i, c := range classes {
		headers[i] = http.Header{headerClass: {c.Name}, headerCriticality: {c.Criticality.String()}}
	}
	return headers
}

// waitFor is a Prefer value that lasts at least as long as d, in whole seconds.
func waitFor(d time.Duration) string {
	return "wait=" + strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// head returns the part of a raw request that does not change.
func (f *requestForm) head(path, host string, class http.Header) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", f.method, path, host)
	for _, h := range []http.Header{f.header, class} {
		_ = h.Write(&b) // a Buffer takes everything
	}
	if len(f.body) > 0 || f.method != http.MethodGet {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(f.body))
	}
	return b.Bytes()
}

// append appends the raw request of an attempt with so much time left.
func (f *requestForm) append(b []byte, a population.Attempt, left time.Duration) []byte {
	b = append(b, f.heads[min(int(a.Class), len(f.heads)-1)]...)
	if f.numbered {
		b = append(b, headerRequestID+": "...)
		b = strconv.AppendUint(b, a.Request, 10)
		b = append(b, "\r\n"+headerAttempt+": "...)
		b = strconv.AppendUint(b, uint64(a.Attempt), 10)
		b = append(b, "\r\n"...)
	}
	if f.key != "" {
		b = append(b, headerKey+": "...)
		b = append(b, f.keyOf(a)...)
		b = append(b, "\r\n"...)
	}
	b = append(b, deadline.Header+": "...)
	b = append(b, deadline.Format(min(left, deadline.Ceiling))...)
	b = append(b, "\r\n\r\n"...)
	return append(b, f.body...)
}

// headerOf returns the header fields of an attempt but for the time left.
func (f *requestForm) headerOf(a population.Attempt) http.Header {
	h := f.header.Clone()
	for name, values := range f.classes[min(int(a.Class), len(f.classes)-1)] {
		h[name] = values
	}
	if f.numbered {
		h.Set(headerRequestID, strconv.FormatUint(a.Request, 10))
		h.Set(headerAttempt, strconv.Itoa(int(a.Attempt)))
	}
	if f.key != "" {
		h.Set(headerKey, f.keyOf(a))
	}
	return h
}

// longest bounds the length of a raw request.
func (f *requestForm) longest() int {
	const variable = 256 // number, attempt, key and time left, with their names
	n := 0
	for _, head := range f.heads {
		n = max(n, len(head))
	}
	return n + len(f.body) + variable
}

// keyOf names the operation of an attempt, which a resume joins.
func (f *requestForm) keyOf(a population.Attempt) string {
	return fmt.Sprintf("%s-%d-%d", f.key, a.Request, a.Attempt)
}

// validHeader says what about the header fields of a plain group cannot be sent.
func validHeader(h http.Header) error {
	for name, values := range h {
		if name != textproto.CanonicalMIMEHeaderKey(name) || strings.ContainsAny(name, " \t\r\n:") || name == "" {
			return fmt.Errorf("header name %q: allowed are canonical names such as X-Request-Id", name)
		}
		if slices.Contains([]string{"Connection", "Content-Length", "Host", "Transfer-Encoding", "Upgrade", deadline.Header}, name) {
			return fmt.Errorf("header %s is set by the generator itself", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("header %s: %q has control characters", name, v)
			}
		}
	}
	return nil
}
