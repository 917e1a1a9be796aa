// Package control starts, steers and stops a live run: child processes, the
// admin calls of running servers, one plan from its first instant to its
// summary, and the load that a serving loadgen plays.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"shedload/internal/boot"
)

// startTimeout bounds the time from starting a child to its announcement.
const startTimeout = 15 * time.Second

// maxAnnouncement bounds the announcement line in bytes.
const maxAnnouncement = 4096

// Spawn says how to start one child.
type Spawn struct {
	// Path is the binary; Words are its arguments, the program's name first.
	Path  string
	Words []string
	// Environ is the whole environment of the child, "NAME=value" each.
	Environ []string
	// Log gets what the child writes to stderr; nil keeps only the last lines.
	Log io.Writer
}

// Child is a program running as a child process. It ends when its standard input
// closes, and so also when this process dies. Methods are safe for concurrent use.
type Child struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *tail
	said   boot.Announcement
	done   chan struct{} // closed when the process has been waited for
	err    error         // valid after done

	mu       sync.Mutex
	stopping bool
}

// Start starts a child and waits for its announcement, so that its ports are
// known and listening. The error of a child that ends instead shows its last lines.
func Start(ctx context.Context, s Spawn) (*Child, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no announcement within %s", startTimeout))
	defer cancel()
	c := &Child{name: s.Words[0], cmd: exec.Command(s.Path, s.Words...), stderr: &tail{next: s.Log}, done: make(chan struct{})}
	c.cmd.Env = append(s.Environ, boot.Prefix+"ANNOUNCE=true", boot.Prefix+"CHILD=true")
	c.cmd.Stderr = c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	announced := make(chan error, 1)
	go c.watch(stdout, announced)
	select {
	case err = <-announced:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Kill()
		<-c.done
		return nil, fmt.Errorf("start %s: %w%s", c.name, err, c.stderr.quote())
	}
	return c, nil
}

// watch reads the announcement, drops what else comes on stdout, and waits for the end.
func (c *Child) watch(stdout io.Reader, announced chan<- error) {
	lines := bufio.NewReaderSize(stdout, maxAnnouncement)
	line, err := lines.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.said)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("ended before it was ready")
	}
	announced <- err
	_, _ = io.Copy(io.Discard, lines)
	err = c.cmd.Wait()
	c.mu.Lock()
	switch {
	case !c.stopping && err == nil:
		c.err = fmt.Errorf("%s (pid %d) ended by itself%s", c.name, c.PID(), c.stderr.quote())
	case !c.stopping:
		c.err = fmt.Errorf("%s (pid %d) died: %w%s", c.name, c.PID(), err, c.stderr.quote())
	}
	c.mu.Unlock()
	close(c.done)
}

// Name returns the program's name.
func (c *Child) Name() string { return c.name }

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// URL returns the base URL of one of the child's listeners; "" when it has none of that name.
func (c *Child) URL(listener string) string {
	if addr := c.said.Listen[listener]; addr != "" {
		return "http://" + addr
	}
	return ""
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says why the process ended, with its last lines; nil while it runs, and
// when Stop or Kill ended it.
func (c *Child) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Stop asks the child to end, waits for it, and kills it when ctx ends first.
func (c *Child) Stop(ctx context.Context) error {
	c.expectEnd()
	_ = c.stdin.Close() // a child that is gone already has no use for it
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		err := c.Kill()
		<-c.done
		return errors.Join(fmt.Errorf("%s (pid %d) did not stop in time and was killed", c.name, c.PID()), err)
	}
}

// Kill ends the child at once, as kill -9 does.
func (c *Child) Kill() error {
	c.expectEnd()
	select {
	case <-c.done:
		return nil
	default:
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", c.name, err)
	}
	return nil
}

func (c *Child) expectEnd() {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
}
