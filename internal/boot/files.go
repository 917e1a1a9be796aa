package boot

import "fmt"

// spareFiles are what a process needs besides its connections: standard streams,
// listeners, pollers, log files, and room for the runtime.
const spareFiles = 64

// CheckFiles returns an error when the file limit does not allow for that many
// connections.
func CheckFiles(connections int) error {
	if need, have := connections+spareFiles, FileLimit(); have > 0 && have < need {
		return fmt.Errorf("file limit: needs %d, have %d (raise it with ulimit -n %d)", need, have, need)
	}
	return nil
}

// ConnsAllowed returns how many connections the file limit allows for, at most most.
func ConnsAllowed(most int) int {
	if have := FileLimit(); have > 0 {
		return max(1, min(most, have-spareFiles))
	}
	return most
}
