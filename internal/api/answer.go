package api

import (
	"net/http"
	"strconv"
	"time"

	"shedload/internal/work"
)

// Values of headers that are the same each time. They are shared: net/http
// copies what it sends, and nobody changes them.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	valueTrue   = []string{"true"}
	valueZero   = []string{"0"}
)

// statusOf maps the reason why an operation has no result to an HTTP status.
func statusOf(r work.Reason) int {
	switch {
	case r == work.Malformed:
		return http.StatusBadRequest
	case r == work.ExpiredOnArrival:
		return http.StatusGatewayTimeout
	case r.Refusal(), r.Drop():
		return http.StatusServiceUnavailable
	case r == work.None: // canceled: by DELETE, while somebody else waited
		return http.StatusGone
	default:
		return http.StatusBadGateway
	}
}

// buffer is a piece of memory for one answer; net/http has copied it when Write returns.
type buffer struct{ b []byte }

func (s *Server) buffer() *buffer {
	if b, ok := s.pools.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, 512)}
}

func (s *Server) send(w http.ResponseWriter, status int, b *buffer) {
	w.WriteHeader(status)
	_, _ = w.Write(b.b) // a client that is gone has nobody to tell
	if cap(b.b) <= maxPooled {
		b.b = b.b[:0]
		s.pools.buffers.Put(b)
	}
}

const maxPooled = 64 << 10

// answerState writes an operation as it is.
func (s *Server) answerState(w http.ResponseWriter, status int, id uint64, rec *record, now work.Instant) {
	b := s.buffer()
	b.b = s.appendState(b.b, id, rec, now)
	h := w.Header()
	h["Content-Type"] = typeJSON
	if status == http.StatusAccepted {
		location := make([]byte, 0, len(operationsPath)+1+idLength)
		location = append(append(location, operationsPath...), '/')
		h["Location"] = []string{string(s.ids.append(location, operationID, id))}
	}
	s.send(w, status, b)
}

func (s *Server) appendState(b []byte, id uint64, rec *record, now work.Instant) []byte {
	b = append(b, `{"id":"`...)
	b = s.ids.append(b, operationID, id)
	b = append(b, `","state":"`...)
	b = append(b, stateOf(rec)...)
	b = append(b, `","reason":"`...)
	b = append(b, reasonOf(rec)...)
	b = append(b, `","waited_ms":`...)
	b = appendMs(b, rec.waited(now))
	b = append(b, `,"finished_in_ms":`...)
	if rec.place == done {
		b = appendMs(b, rec.ended.Sub(rec.arrived))
	} else {
		b = append(b, "null"...)
	}
	return append(b, "}\n"...)
}

func stateOf(rec *record) string {
	switch rec.place {
	case done:
		return "done"
	case failed:
		return "failed"
	default:
		return "pending"
	}
}

func reasonOf(rec *record) string {
	if rec.place == failed && rec.reason == work.None {
		return "canceled"
	}
	return rec.reason.String()
}

// answerEnd tells a client how its operation ended.
func (s *Server) answerEnd(w http.ResponseWriter, id uint64, rec *record, res work.Result) {
	if res.Outcome == work.Succeeded {
		s.answerState(w, http.StatusOK, id, rec, rec.ended)
		return
	}
	status := statusOf(res.Reason)
	h := w.Header()
	h["Content-Type"] = typeProblem
	if status == http.StatusServiceUnavailable {
		h["Retry-After"] = retryAfter(res.RetryAfter)
	}
	if res.DoNotRetry {
		h["X-Do-Not-Retry"] = valueTrue
	}
	b := s.buffer()
	b.b = appendProblem(b.b, status, describe(res, rec))
	b.b = append(b.b, `,"reason":"`...)
	b.b = append(b.b, reasonOf(rec)...)
	b.b = append(b.b, `","waited_ms":`...)
	b.b = appendMs(b.b, rec.waited(rec.ended))
	b.b = append(b.b, "}\n"...)
	s.send(w, status, b)
}

func describe(res work.Result, rec *record) string {
	switch {
	case res.Reason == work.ExpiredOnArrival:
		return "the deadline had passed when the request arrived"
	case res.Outcome == work.Refused:
		return "turned away at the door"
	case res.Outcome == work.Dropped:
		return "taken off the queue without being worked on"
	case res.Reason == work.LostUnit:
		return "the worker did not report in time"
	case res.Reason == work.Broken:
		return "the worker reported a failure"
	default:
		return "the operation was canceled"
	}
}

// retryAfter rounds up to the header's whole seconds: never earlier than meant.
func retryAfter(d time.Duration) []string {
	if d <= 0 {
		return valueZero
	}
	return []string{strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)}
}

// problem answers with a problem document (RFC 9457).
func (s *Server) problem(w http.ResponseWriter, status int, detail string) {
	w.Header()["Content-Type"] = typeProblem
	b := s.buffer()
	b.b = append(appendProblem(b.b, status, detail), "}\n"...)
	s.send(w, status, b)
}

func (s *Server) problemReason(w http.ResponseWriter, status int, r work.Reason, detail string) {
	w.Header()["Content-Type"] = typeProblem
	b := s.buffer()
	b.b = append(appendProblem(b.b, status, detail), `,"reason":"`...)
	b.b = append(append(b.b, r.String()...), "\",\"waited_ms\":0}\n"...)
	s.send(w, status, b)
}

// appendProblem begins a problem document; the caller closes it.
func appendProblem(b []byte, status int, detail string) []byte {
	b = append(b, `{"type":"about:blank","title":"`...)
	b = append(b, http.StatusText(status)...)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"detail":`...)
	return appendJSONString(b, detail)
}

// appendMs writes d in milliseconds with three decimals, rounded down.
func appendMs(b []byte, d time.Duration) []byte {
	us := max(0, d.Microseconds())
	b = strconv.AppendInt(b, us/1000, 10)
	rest := us % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
