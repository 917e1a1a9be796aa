//go:build !linux

package e2e

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// childrenOf returns the ids of a process's children.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	var children []int
	for _, p := range processes(t) {
		if p.parent == pid {
			children = append(children, p.pid)
		}
	}
	return children
}

// running reports whether a process is there and is no zombie.
func running(t *testing.T, pid int) bool {
	t.Helper()
	for _, p := range processes(t) {
		if p.pid == pid {
			return !strings.HasPrefix(p.state, "Z")
		}
	}
	return false
}

type process struct {
	pid, parent int
	state       string
}

func processes(t *testing.T) []process {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []process
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		pid, _ := strconv.Atoi(f[0]) // ps prints numbers
		parent, _ := strconv.Atoi(f[1])
		list = append(list, process{pid, parent, f[2]})
	}
	return list
}
