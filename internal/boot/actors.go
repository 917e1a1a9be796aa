package boot

import (
	"context"
	"io"
	"time"

	"github.com/oklog/run"
	"go.uber.org/zap"
)

// AddServers adds each server to the group. When the group stops they shut down
// one after the other, in this order, each within grace.
func AddServers(g *run.Group, grace time.Duration, servers ...*Server) {
	for _, s := range servers {
		g.Add(s.Serve, func(error) {
			ctx, cancel := context.WithTimeout(context.Background(), grace)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil && s.endpoint.Log != nil {
				s.endpoint.Log.Warn("connections cut at shutdown", zap.String("listener", s.Name()), zap.Error(err))
			}
		})
	}
}

// AddTask adds a task that runs until its context ends.
func AddTask(g *run.Group, task func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	g.Add(func() error { return task(ctx) }, func(error) { cancel() })
}

// AddStops adds what ends a program from outside: ctx, and for a child also the
// end of its standard input.
func AddStops(ctx context.Context, g *run.Group, child bool, stdin io.Reader) {
	AddTask(g, func(group context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-group.Done():
			return nil
		}
	})
	if child {
		AddTask(g, func(group context.Context) error { return UntilOrphaned(group, stdin) })
	}
}

// AddShutdown adds a step that is taken when the group stops, in its place among
// the others and within grace.
func AddShutdown(g *run.Group, grace time.Duration, step func(ctx context.Context)) {
	done := make(chan struct{})
	g.Add(func() error {
		<-done
		return nil
	}, func(error) {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		step(ctx)
		close(done)
	})
}
