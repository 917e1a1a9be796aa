package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Announcement is the JSON line with which a program tells its parent where it
// listens: addresses by endpoint name.
type Announcement struct {
	Program string            `json:"program"`
	PID     int               `json:"pid"`
	Listen  map[string]string `json:"listen"`
}

// Announce writes the announcement for servers as one line.
func Announce(w io.Writer, program string, servers []*Server) error {
	a := Announcement{Program: program, PID: os.Getpid(), Listen: make(map[string]string, len(servers))}
	for _, s := range servers {
		a.Listen[s.Name()] = s.Addr()
	}
	if err := json.NewEncoder(w).Encode(a); err != nil {
		return fmt.Errorf("announce addresses: %w", err)
	}
	return nil
}

// ErrOrphaned ends a child whose parent closed its standard input, or died.
var ErrOrphaned = errors.New("standard input closed: the parent is gone")

// UntilOrphaned waits until in ends and returns ErrOrphaned; nil when ctx ends
// first. Interrupts from the terminal are ignored from then on: they reach the
// whole process group, and it is the parent that decides when its children end.
//
// A read of standard input cannot be broken off, so one goroutine stays behind
// when ctx ends first; the process is about to exit then.
func UntilOrphaned(ctx context.Context, in io.Reader) error {
	signal.Ignore(os.Interrupt)
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		gone <- err
	}()
	select {
	case err := <-gone:
		return errors.Join(ErrOrphaned, err)
	case <-ctx.Done():
		return nil
	}
}
