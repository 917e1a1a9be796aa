package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"shedload/internal/deadline"
	"shedload/internal/service"
	"shedload/internal/work"
)

const (
	leasePath = "/v1/leases"
	maxAnswer = 8 << 20
	// answerLimit is far above the 20 s for which the server holds a request.
	answerLimit = 60 * time.Second
	maxIdle     = 512 // connections
)

// exchange is one request and what it carries.
type exchange struct {
	reports []report
	want    int
	leave   bool
	sent    work.Instant
}

// grant is the server's answer: leases, and its load for those who degrade under it.
type grant struct {
	Leases []lease `json:"leases"`
	Load   struct {
		Queued    int `json:"queued"`
		InService int `json:"in_service"`
		Workers   int `json:"workers"`
	} `json:"load"`
}

type lease struct {
	Lease   string `json:"lease"`
	Request uint64 `json:"request,string"`
	Attempt uint16 `json:"attempt"`
	Class   string `json:"class"`
	// TimeoutMS is what the client has left, for information: work that was
	// started is not cut short, or there would be no late work to see.
	TimeoutMS string `json:"timeout_ms"`
}

// errUnanswered is in the chain of errors after which the same reports are sent again.
var errUnanswered = errors.New("no answer")

func newClient(c Config) *http.Client {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, DisableCompression: true, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle,
			IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// run is one exchange from request to the jobs that came of it.
func (w *Worker) run(x exchange) {
	g, stale, err := w.post(x)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.config.Clock()
	w.open--
	w.asked -= x.want
	if err != nil {
		w.failedLocked(x, err, now)
	} else {
		w.numbers.Exchanges++
		w.backoff = backoff{}
		w.staleLocked(x.reports, stale)
		for _, l := range g.Leases {
			w.startLocked(l, g, now)
		}
	}
	w.wakeLocked()
}

// failedLocked keeps what could not be said, and waits before it is said again.
func (w *Worker) failedLocked(x exchange, err error, now work.Instant) {
	w.numbers.Failures++
	if errors.Is(err, errUnanswered) {
		w.reports = append(x.reports, w.reports...)
		w.left = w.left && !x.leave
	}
	if w.base.Err() != nil || x.sent < w.failedAt {
		return // one of many that failed together counts for all
	}
	pause := w.backoff.next()
	w.failedAt, w.retryAt = now, now.Add(pause)
	w.log.Warn("no work from the API server", zap.Error(err), zap.Duration("retry_in", pause))
}

// staleLocked counts work that the server had given up for lost.
func (w *Worker) staleLocked(reports []report, stale []string) {
	if len(stale) == 0 {
		return
	}
	known := make(map[string]report, len(reports))
	for _, r := range reports {
		known[r.lease] = r
	}
	for _, id := range stale {
		r, ok := known[id]
		if !ok {
			continue
		}
		delete(known, id)
		w.numbers.Stale++
		if !r.late { // late work is counted as wasted already
			w.numbers.Wasted += r.took
		}
	}
}

// startLocked begins to work on a lease.
func (w *Worker) startLocked(l lease, g grant, now work.Instant) {
	class := w.classes[l.Class]
	if !w.model.Enter(class) { // its compartment has no worker left
		w.reports = append(w.reports, report{lease: l.Lease})
		return
	}
	j := job{lease: l.Lease, start: now, from: now, deadline: work.Never, class: class}
	if left, err := deadline.ParseMs(l.TimeoutMS); err == nil {
		j.deadline = now.Add(left)
	}
	j.took = w.model.Work(service.Job{
		Request: l.Request, Attempt: l.Attempt, Class: class, Load: service.Load(g.Load),
	}, now)
	w.numbers.Busy++
	if w.config.Work == CPU {
		w.exchanges.Go(func() { w.burn(j) })
		return
	}
	j.end = w.model.End(now, j.took)
	w.running.push(j)
}

// post sends x and reads the answer. The leases in stale were reported too late.
func (w *Worker) post(x exchange) (g grant, stale []string, err error) {
	ctx, cancel := context.WithTimeout(w.base, answerLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.config.API+leasePath, bytes.NewReader(w.encode(x)))
	if err != nil {
		return g, nil, fmt.Errorf("lease work: %w", err)
	}
	req.Header["Content-Type"] = jsonType
	resp, err := w.client.Do(req)
	if err != nil {
		return g, nil, fmt.Errorf("lease work: %w: %w", errUnanswered, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		return g, nil, fmt.Errorf("lease work: %w: answer of %d bytes: %v", errUnanswered, len(body), err)
	}
	return parse(resp.StatusCode, body)
}

var jsonType = []string{"application/json"}

func parse(status int, body []byte) (g grant, stale []string, err error) {
	switch {
	case status == http.StatusNoContent:
	case status == http.StatusOK:
		if err := json.Unmarshal(body, &g); err != nil {
			return grant{}, nil, fmt.Errorf("lease work: answer: %w", err)
		}
	case status == http.StatusConflict:
		var problem struct {
			Stale []string `json:"stale"`
		}
		if err := json.Unmarshal(body, &problem); err != nil {
			return grant{}, nil, fmt.Errorf("lease work: answer: %w", err)
		}
		stale = problem.Stale
	case status >= 500:
		return grant{}, nil, fmt.Errorf("lease work: %w: status %d", errUnanswered, status)
	default: // what it said will not be understood the next time either
		return grant{}, nil, fmt.Errorf("lease work: status %d: %.200q", status, body)
	}
	return g, stale, nil
}

// encode writes the request's body.
func (w *Worker) encode(x exchange) []byte {
	b := make([]byte, 0, 128+96*len(x.reports))
	b = append(b, `{"worker":`...)
	b = strconv.AppendQuote(b, w.config.Name)
	b = append(b, `,"workers":`...)
	b = strconv.AppendInt(b, int64(w.config.Workers), 10)
	b = append(b, `,"want":`...)
	b = strconv.AppendInt(b, int64(x.want), 10)
	if x.leave {
		b = append(b, `,"leave":true`...)
	}
	b = append(b, `,"done":[`...)
	for i, r := range x.reports {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"lease":`...)
		b = strconv.AppendQuote(b, r.lease)
		b = append(b, `,"ok":`...)
		b = strconv.AppendBool(b, r.ok)
		b = append(b, `,"work_ms":`...)
		b = strconv.AppendFloat(b, r.took.Seconds()*1e3, 'f', 3, 64)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}
