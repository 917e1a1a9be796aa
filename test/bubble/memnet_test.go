package bubble_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shedload/test/bubble"
)

// pair returns both ends of a connection.
func pair(t *testing.T, n *bubble.Net, dial func() (net.Conn, error)) (near, far net.Conn) {
	t.Helper()
	l, err := n.Listen("server:80")
	if err != nil {
		t.Fatal(err)
	}
	if near, err = dial(); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// TestConnections: the network in memory does what net/http relies on.
func TestConnections(t *testing.T) {
	for name, f := range map[string]func(t *testing.T, near, far net.Conn){
		"what was written before the end is read": func(t *testing.T, near, far net.Conn) {
			_, _ = near.Write([]byte("last words"))
			_ = near.Close()
			text, err := io.ReadAll(far)
			if string(text) != "last words" || err != nil {
				t.Errorf("read %q, %v", text, err)
			}
			if _, err := far.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("a write to nobody: %v", err)
			}
		},
		"a deadline ends a read, exactly then": func(t *testing.T, near, _ net.Conn) {
			start := time.Now()
			_ = near.SetReadDeadline(start.Add(1500 * time.Microsecond))
			_, err := near.Read(make([]byte, 1))
			if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 1500*time.Microsecond {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		},
		"a deadline in the past ends a read under way": func(t *testing.T, near, _ net.Conn) {
			ended := make(chan error)
			go func() { _, err := near.Read(make([]byte, 1)); ended <- err }()
			synctest.Wait()
			_ = near.SetReadDeadline(time.Unix(1, 0))
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		},
		"a write waits while nobody reads": func(t *testing.T, near, far net.Conn) {
			written := make(chan int)
			go func() { n, _ := near.Write(make([]byte, 100_000)); written <- n }()
			synctest.Wait()
			select {
			case n := <-written:
				t.Fatalf("%d bytes were written to a peer that reads nothing", n)
			default:
			}
			if _, err := io.ReadFull(far, make([]byte, 100_000)); err != nil || <-written != 100_000 {
				t.Error(err)
			}
		},
		"an end at one's own side ends one's own read": func(t *testing.T, near, _ net.Conn) {
			_ = near.Close()
			if _, err := near.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := bubble.NewNet()
				near, far := pair(t, n, func() (net.Conn, error) { return n.Dial(t.Context(), "tcp", "server:80") })
				f(t, near, far)
				_, _ = near.Close(), far.Close()
			})
		})
	}
}

func TestNobodyListens(t *testing.T) {
	n := bubble.NewNet()
	if _, err := n.Dial(t.Context(), "tcp", "server:80"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	l, err := n.Listen("server:80")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen("server:80"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Error(err)
	}
	waiting, err := n.Dial(t.Context(), "tcp", "server:80")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that was never accepted: %v", err)
	}
	if _, err := n.Dial(t.Context(), "tcp", "server:80"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}

func TestAHostIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bubble.NewNet()
		h := n.Host()
		_, far := pair(t, n, func() (net.Conn, error) { return h.Dial(t.Context(), "tcp", "server:80") })
		ended := make(chan error)
		go func() { _, err := far.Read(make([]byte, 1)); ended <- err }()
		synctest.Wait()
		h.Cut()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the peer reads %v", err)
		}
		if _, err := h.Dial(t.Context(), "tcp", "server:80"); !errors.Is(err, syscall.ENETDOWN) {
			t.Errorf("a dead host dials: %v", err)
		}
	})
}
