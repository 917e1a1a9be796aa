package app

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// play shows twelve seconds with a spike from 2 to 4 s.
func play(p *progress) {
	p.start(scenario.Plan{Horizon: 12 * time.Second})
	var rows ledger.Rows
	for second := 1; second <= 12; second++ {
		row := ledger.Row{T: second - 1, Offered: int64(100 * second)}
		row.Throughput, row.GoodputClient, row.Queue = 80, int64(80/second), int64(1000*second)
		rows = append(rows, row)
		at := control.Progress{At: time.Duration(second) * time.Second, Row: row, Rows: rows, State: ledger.Healthy}
		at.Left = 12*time.Second - at.At
		if second > 2 && second <= 4 {
			at.Phase, at.State = "spike", ledger.Down
		}
		p.tick(at)
	}
	p.done()
}

// TestPlainProgress is for files and pipes: lines, no control characters, one at
// each change of phase, every five seconds, and at the end.
func TestPlainProgress(t *testing.T) {
	var b bytes.Buffer
	play(&progress{w: &b, name: "fifo"})
	want := []string{"fifo: 12s of live load", "3s of 12s  spike", "5s of 12s  baseline", "10s of 12s  baseline", "12s of 12s  baseline"}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), b.String())
	}
	for i := range want {
		if !strings.Contains(lines[i], want[i]) {
			t.Errorf("line %d: got %q, want %q in it", i, lines[i], want[i])
		}
	}
	if !strings.Contains(lines[1], "offered    300/s  throughput   80/s  goodput   26/s  queue   3,000  collapsed") {
		t.Errorf("got %q", lines[1])
	}
	if strings.ContainsAny(b.String(), "\x1b\r") {
		t.Error("control characters")
	}
}

// TestTerminalProgress rewrites one block in place, in lines that fit.
func TestTerminalProgress(t *testing.T) {
	var b bytes.Buffer
	play(&progress{w: &b, name: "fifo", terminal: true, width: 50})
	blocks := strings.Split(b.String(), "\x1b[6A")
	if len(blocks) != 12 {
		t.Fatalf("%d blocks, want one a second that goes back up six lines", len(blocks))
	}
	last := strings.NewReplacer("\r", "", "\x1b[K", "").Replace(blocks[11])
	for _, want := range []string{"fifo  ██████████████████████████████  0s left", "offered        1,200/s  ", "▁▂▂▃▃▄▅▅▆▆▇█", "goodput", "queue         12,000", "healthy"} {
		if !strings.Contains(last, want) {
			t.Errorf("got\n%s\nwant %q in it", last, want)
		}
	}
	if strings.Contains(b.String(), "m█") || strings.Contains(b.String(), "\x1b[32m") {
		t.Error("colours, although none are allowed")
	}
	for line := range strings.Lines(last) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 49 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	b.Reset()
	play(&progress{w: &b, name: "fifo", terminal: true, color: true, width: 80})
	if !strings.Contains(b.String(), "\x1b[1;31mcollapsed") {
		t.Error("no colours")
	}
}

func TestQuietProgress(t *testing.T) {
	var b bytes.Buffer
	play(&progress{w: &b, name: "fifo", silent: true, terminal: true})
	if b.Len() > 0 {
		t.Errorf("got %q", b.String())
	}
}
