package client

import (
	"encoding/json"
	"net/http"
	"time"

	"shedload/internal/deadline"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// answer is what an exchange brought, in whichever way it was carried.
type answer struct {
	status     int
	retryAfter string
	doNotRetry bool
	body       []byte // of an error
}

// meaning says what an answer means to a client that waits in that way; pending
// means that it is no end: the client's own timer decides.
func (a answer) meaning(w scenario.Wait) (r work.Result, pending bool) {
	if w == scenario.WaitPlain {
		return a.plain(), false
	}
	return a.result()
}

// result is the meaning of an answer of the apiserver.
func (a answer) result() (r work.Result, pending bool) {
	switch {
	case a.status == http.StatusAccepted:
		return work.Result{}, true
	case a.status/100 == 2:
		return work.Result{Outcome: work.Succeeded}, false
	}
	r = work.Result{Reason: reasonOf(a.body), RetryAfter: a.wait(), DoNotRetry: a.doNotRetry}
	if a.status == http.StatusGatewayTimeout && r.Reason == work.None {
		r.Reason = work.ExpiredOnArrival
	}
	switch {
	case r.Reason.Refusal() || a.status == http.StatusServiceUnavailable && r.Reason == work.None:
		r.Outcome = work.Refused
	case r.Reason.Drop():
		r.Outcome = work.Dropped
	case a.status >= 500:
		r.Outcome = work.Failed
	default:
		r.Outcome = work.ClientError
	}
	return r, false
}

// plain is the meaning of an answer of any service: good is 2xx.
func (a answer) plain() work.Result {
	r := work.Result{Outcome: work.Failed, RetryAfter: a.wait(), DoNotRetry: a.doNotRetry}
	switch {
	case a.status/100 == 2:
		r = work.Result{Outcome: work.Succeeded}
	case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
		r.Outcome = work.Refused
	}
	return r
}

// wait is how long the server asks to be left alone. What cannot be read asks for nothing.
func (a answer) wait() time.Duration {
	if a.retryAfter == "" || a.retryAfter == "0" {
		return 0
	}
	d, _, err := deadline.ParseRetryAfter(http.Header{deadline.HeaderRetryAfter: {a.retryAfter}}, time.Now())
	if err != nil {
		return 0
	}
	return d
}

// reasonOf reads the reason of a problem document (RFC 9457); None when there is none.
func reasonOf(body []byte) work.Reason {
	var problem struct {
		Reason work.Reason `json:"reason"`
	}
	if len(body) == 0 || json.Unmarshal(body, &problem) != nil {
		return work.None
	}
	return problem.Reason
}
