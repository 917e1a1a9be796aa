package e2e

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"shedload/internal/boot"
)

// service is an apiserver or backend that runs.
type service struct {
	cmd    *exec.Cmd
	listen map[string]string
}

// start starts a program on free ports and waits until it listens.
func start(t *testing.T, environ []string, command ...string) *service {
	t.Helper()
	any := "127.0.0.1:0"
	c := exe(t, 3*time.Minute, append([]string{
		"SHEDLOAD_ANNOUNCE=true", "SHEDLOAD_LISTEN_ADDR=" + any, "SHEDLOAD_WORKER_ADDR=" + any, "SHEDLOAD_ADMIN_ADDR=" + any,
	}, environ...), command...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &service{cmd: c}
	t.Cleanup(s.kill)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%s did not say where it listens: %v", command[0], err)
	}
	var a boot.Announcement
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatal(err)
	}
	s.listen = a.Listen
	return s
}

func (s *service) url(listener string) string { return "http://" + s.listen[listener] }

// kill ends it without a chance to say anything, as a crash does.
func (s *service) kill() {
	_ = s.cmd.Process.Kill() // it may be over already
	_ = s.cmd.Wait()
}
