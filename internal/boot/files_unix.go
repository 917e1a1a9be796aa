//go:build unix

package boot

import "golang.org/x/sys/unix"

// FileLimit returns how many files, and so connections, the process may have
// open; 0 when unknown. The Go runtime has already raised the soft limit to the hard one.
func FileLimit() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(uint64(l.Cur), 1<<30))
}
