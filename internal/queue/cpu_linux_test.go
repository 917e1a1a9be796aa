package queue

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread, which other
// processes cannot stretch. The caller locks its goroutine to the thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
