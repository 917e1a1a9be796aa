package worker

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// burnCPU uses d of this thread's processor time.
func burnCPU(ctx context.Context, d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadTime() + d; threadTime() < end && ctx.Err() == nil; {
		spin()
	}
}

func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has this clock
	return time.Duration(t.Nano())
}
