//go:build !linux

package queue

import "time"

var benchStart = time.Now()

// threadTime returns elapsed time where a thread's own is not to be had.
func threadTime() time.Duration { return time.Since(benchStart) }
