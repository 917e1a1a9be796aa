//go:build !unix

package boot

// FileLimit returns 0: the system has no such limit.
func FileLimit() int { return 0 }
