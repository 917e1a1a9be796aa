package bubble_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// tap reads what goes over the wire, once it is turned on.
type tap struct {
	on atomic.Bool

	mu     sync.Mutex
	starts []start
	leases []lease
}

// start is an attempt as it came in at the public listener.
type start struct {
	at               time.Time
	request, attempt string
	timeout          string // its X-Request-Timeout-Ms

	// How it was answered, once it was.
	answered   time.Time
	status     int
	retryAfter string
}

// lease is a unit as it went out to a backend.
type lease struct {
	at        time.Time
	Request   string
	Attempt   int
	TimeoutMS string `json:"timeout_ms"`
}

// seen returns what went over the wire so far.
func (p *tap) seen() ([]start, []lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.starts), slices.Clone(p.leases)
}

func (p *tap) public(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.on.Load() || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		p.mu.Lock()
		i := len(p.starts)
		p.starts = append(p.starts, start{
			at: time.Now(), request: r.Header.Get("X-Request-Id"), attempt: r.Header.Get("X-Attempt"),
			timeout: r.Header.Get("X-Request-Timeout-Ms"),
		})
		p.mu.Unlock()
		c := &copied{ResponseWriter: w}
		next.ServeHTTP(c, r)
		p.mu.Lock()
		defer p.mu.Unlock()
		s := &p.starts[i]
		s.answered, s.status, s.retryAfter = time.Now(), c.status, w.Header().Get("Retry-After")
	})
}

func (p *tap) workers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.on.Load() {
			next.ServeHTTP(w, r)
			return
		}
		c := &copied{ResponseWriter: w}
		next.ServeHTTP(c, r)
		var answer struct{ Leases []lease }
		if json.Unmarshal(c.body.Bytes(), &answer) != nil {
			return // no leases
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, l := range answer.Leases {
			l.at = time.Now()
			p.leases = append(p.leases, l)
		}
	})
}

// copied keeps what is written.
type copied struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (c *copied) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *copied) Write(b []byte) (int, error) {
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (c *copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }
