package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"shedload/internal/scenario"
)

// Spawner says how this program starts the others: it starts itself, with the
// other's name as the first word.
type Spawner struct {
	// Path is the binary; "" is the running one.
	Path string
	// Log gets what the children write to stderr; nil keeps only the last lines,
	// for when one dies.
	Log io.Writer
	// LogLevel is theirs; "" is warn.
	LogLevel string
}

// Children are an apiserver and a backend on free loopback ports, set up as a plan
// says. Methods are safe for concurrent use.
type Children struct {
	spawn Spawner
	plan  scenario.Plan
	died  chan error

	mu       sync.Mutex
	api      *Child
	backends []*Child // all that were started; the last one works
}

// StartChildren starts both and returns when they listen.
func StartChildren(ctx context.Context, s Spawner, p scenario.Plan) (*Children, error) {
	if s.Path == "" {
		path, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the running binary: %w", err)
		}
		s.Path = path
	}
	if s.LogLevel == "" {
		s.LogLevel = "warn"
	}
	c := &Children{spawn: s, plan: p, died: make(chan error, 1)}
	api, err := c.start(ctx, "apiserver", apiserverEnviron(p, s.LogLevel))
	if err != nil {
		return nil, err
	}
	c.api = api
	if err := c.StartBackend(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(ctx))
	}
	return c, nil
}

// StartBackend starts a backend: the first one, or one more after the last was killed.
func (c *Children) StartBackend(ctx context.Context) error {
	b, err := c.start(ctx, "backend", backendEnviron(c.plan, c.api.URL("workers"), c.spawn.LogLevel))
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.backends = append(c.backends, b)
	c.mu.Unlock()
	return nil
}

func (c *Children) start(ctx context.Context, program string, environ []string) (*Child, error) {
	child, err := Start(ctx, Spawn{Path: c.spawn.Path, Words: []string{program}, Environ: environ, Log: c.spawn.Log})
	if err != nil {
		return nil, err
	}
	go func() {
		<-child.Done()
		if err := child.Err(); err != nil {
			select {
			case c.died <- err:
			default: // the first death is told; the others follow from it
			}
		}
	}()
	return child, nil
}

// API returns the apiserver.
func (c *Children) API() *Child { return c.api }

// Backend returns the backend that was started last.
func (c *Children) Backend() *Child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backends[len(c.backends)-1]
}

// Target returns where they listen.
func (c *Children) Target() Target {
	return Target{Public: c.api.URL("public"), APIAdmin: c.api.URL("admin"), BackendAdmin: c.Backend().URL("admin")}
}

// Died receives the reason when a child ends that nobody stopped or killed.
func (c *Children) Died() <-chan error { return c.died }

// stopTimeout bounds how long one child may take to end.
const stopTimeout = 15 * time.Second

// Stop ends all of them, backends first so that they can report their last units.
// It is not cut short by ctx, whose end is often the reason to stop.
func (c *Children) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	c.mu.Lock()
	backends := append([]*Child(nil), c.backends...)
	c.mu.Unlock()
	var errs []error
	for _, b := range backends {
		select {
		case <-c.api.Done(): // nobody is left to report to
			errs = append(errs, b.Kill())
		default:
			errs = append(errs, b.Stop(ctx))
		}
	}
	return errors.Join(append(errs, c.api.Stop(ctx))...)
}

// Usage returns what they have used, by program; backends are added up.
func (c *Children) Usage() map[string]Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := Usage{Measured: true}
	for _, b := range c.backends {
		sum = sum.plus(b.Usage())
	}
	return map[string]Usage{"apiserver": c.api.Usage(), "backend": sum}
}
