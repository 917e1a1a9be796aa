//go:build !linux

package worker

import (
	"context"
	"time"
)

// burnCPU keeps a processor busy for d.
func burnCPU(ctx context.Context, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		spin()
	}
}
