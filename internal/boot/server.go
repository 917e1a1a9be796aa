package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
)

// The bounds of every listener.
const (
	headerTimeout  = 5 * time.Second  // to send the request's header
	bodyTimeout    = 10 * time.Second // to send the request's body
	idleTimeout    = 2 * time.Minute  // between two requests
	maxHeaderBytes = 16 << 10
	maxStreams     = 20_000 // concurrent h2c requests of one connection
)

// Endpoint is one HTTP listener of a program.
type Endpoint struct {
	Name    string // in logs and in the announcement
	Addr    Addr
	Handler http.Handler
	// H2C accepts HTTP/2 without TLS beside HTTP/1.1.
	H2C bool
	// MaxConns bounds the open connections; 0 leaves them to the file limit.
	// At the bound, new ones wait in the kernel's backlog.
	MaxConns int
	Log      *zap.Logger
}

// Server is an endpoint that listens. Its methods are safe for concurrent use.
type Server struct {
	endpoint Endpoint
	listener net.Listener
	http     *http.Server
}

// Listen opens the endpoint's address, so that the port is known and taken, but
// does not serve yet.
//
// There is no time-out for writing or for the whole request: answers are held
// back for as long as a client waits. What a client sends is bounded in time and size.
func Listen(e Endpoint) (*Server, error) {
	l, err := net.Listen("tcp", string(e.Addr))
	if err != nil {
		return nil, fmt.Errorf("%s listener: %w", e.Name, err)
	}
	if e.MaxConns > 0 {
		l = &boundedListener{Listener: l, slots: make(chan struct{}, e.MaxConns), closed: make(chan struct{})}
	}
	s := &http.Server{
		Handler:           crashOnPanic(boundBody(e.Handler)),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(e.H2C)
	if e.Log != nil {
		s.ErrorLog, _ = zap.NewStdLogAt(e.Log.With(zap.String("listener", e.Name)), zap.WarnLevel)
	}
	return &Server{endpoint: e, listener: l, http: s}, nil
}

// Name returns the endpoint's name.
func (s *Server) Name() string { return s.endpoint.Name }

// Addr returns the address that is really listened on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers requests until Shutdown; then it returns nil.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s listener: %w", s.endpoint.Name, err)
	}
	return nil
}

// Shutdown stops listening, waits for the requests in progress until ctx ends,
// and then cuts what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.listener.Close() // also when Serve was never called
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// boundBody gives a request's body a time limit of its own. (ReadTimeout would
// not do: it also cancels requests that are held back after their body was read.)
func boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			c := http.NewResponseController(w)
			// A transport without deadlines (a test's recorder) has none to set.
			if c.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, control: c}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// crashOnPanic ends the process when a handler panics. net/http would go on, with
// whatever the handler had locked still locked: a server that neither works nor dies.
func crashOnPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { // a handler's way to cut the connection
				panic(v)
			}
			message := fmt.Sprintf("handler of %s: %v\n\n%s", r.URL.Path, v, debug.Stack())
			go panic(message) // out of reach of net/http's recover
			select {}
		}()
		next.ServeHTTP(w, r)
	})
}

type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{}) // the body is over; the wait for the answer is not bounded
	}
	return n, err
}

// boundedListener accepts only while fewer than cap(slots) connections are open.
type boundedListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &boundedConn{Conn: c, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type boundedConn struct {
	net.Conn
	release func()
}

func (c *boundedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
