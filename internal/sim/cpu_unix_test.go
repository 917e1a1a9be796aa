//go:build unix

package sim

import (
	"syscall"
	"time"
)

// cpu is the processor time that this process has used so far, which, unlike the
// wall clock, other processes of a busy machine change little.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
