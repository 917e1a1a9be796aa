//go:build !linux

package control

import "os"

// ProcessUsage returns the zero Usage: this system does not tell without root.
func ProcessUsage(int) Usage { return Usage{} }

func endedUsage(s *os.ProcessState) Usage {
	return Usage{CPU: s.UserTime() + s.SystemTime(), Measured: true}
}
