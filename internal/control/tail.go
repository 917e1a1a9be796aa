package control

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// The bounds of what is kept of a child's stderr.
const (
	tailBytes = 4096
	tailLines = 12
)

// tail keeps the end of what is written to it, and passes everything on.
type tail struct {
	next io.Writer // may be nil

	mu   sync.Mutex
	kept []byte
}

// Write never fails: a child must not die because its log cannot be shown.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.next != nil {
		_, _ = t.next.Write(p)
	}
	return len(p), nil
}

// quote returns the last lines, indented, to put behind an error; "" without any.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(bytes.TrimSpace(t.kept))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "; it said last:\n  " + strings.Join(lines, "\n  ")
}
