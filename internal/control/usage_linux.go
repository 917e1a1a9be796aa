package control

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// userHZ is the unit of /proc's CPU times, 100 a second on every Linux that Go runs on.
const userHZ = 100

// ProcessUsage reads /proc; the zero Usage when the process is gone.
func ProcessUsage(pid int) Usage {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}
	}
	// The second field is the command in parentheses and may hold spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return Usage{}
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	u := Usage{CPU: time.Duration(user+system) * time.Second / userHZ, Measured: true}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			u.RSS = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			u.PeakRSS = kb << 10
		}
	}
	return u
}

func endedUsage(s *os.ProcessState) Usage {
	u := Usage{CPU: s.UserTime() + s.SystemTime(), Measured: true}
	if r, ok := s.SysUsage().(*syscall.Rusage); ok {
		u.PeakRSS = r.Maxrss << 10
	}
	return u
}
