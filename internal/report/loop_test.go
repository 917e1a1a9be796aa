package report

import (
	"strings"
	"testing"
)

func TestLoop(t *testing.T) {
	var b strings.Builder
	l := Loop{Name: "x/y (sim)", From: 20, To: 100, Up: []float64{20, 60, 0}, Down: []float64{20, 10, 0}}
	if err := WriteLoop(&b, l, Style{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) != graphHeight+3 || !strings.HasPrefix(lines[0], "x/y (sim): goodput over load") {
		t.Fatalf("got\n%s", b.String())
	}
	if !strings.Contains(lines[1], "59") || !strings.Contains(b.String(), "*") || strings.Contains(b.String(), "\x1b") {
		t.Errorf("got\n%s", b.String())
	}
	// The scale ends where the picture does.
	last := lines[len(lines)-1]
	if !strings.HasSuffix(last, "100/s") || strings.Index(last, "20/s") != strings.IndexRune(lines[graphHeight], '┤')+1 && !strings.Contains(last, " 20/s") {
		t.Errorf("the scale is %q under\n%s", last, b.String())
	}
	b.Reset()
	if err := WriteLoop(&b, Loop{Up: []float64{1}, Down: []float64{1}}, Style{}); err != nil || b.Len() > 0 {
		t.Errorf("one load is drawn: %q, %v", b.String(), err)
	}
	if err := WriteLoop(&b, l, Style{Color: true}); err != nil || !strings.Contains(b.String(), "\x1b") {
		t.Errorf("no colour: %v", err)
	}
}

func TestLoopTable(t *testing.T) {
	rows := []LoopRow{
		{Load: 20, Up: LoopSide{20, 20, 20, 1, 0}, Down: LoopSide{100, 80, 0, 0, 23_245}},
		{Load: 90, Up: LoopSide{90, 80, 79.6, 1.02, 3}, Down: LoopSide{90, 80, 79.6, 1.02, 3}},
	}
	var plain, colored strings.Builder
	if err := WriteLoopTable(&plain, rows, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"│     20 │", "23,245", "0.0 %", "100.0 %"} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("no %q in\n%s", want, plain.String())
		}
	}
	if strings.Contains(plain.String(), "102") {
		t.Errorf("more than was asked for is all of it:\n%s", plain.String())
	}
	if err := WriteLoopTable(&colored, rows, Style{Color: true}); err != nil || !strings.Contains(colored.String(), "\x1b[31m") || !strings.Contains(colored.String(), "\x1b[32m") {
		t.Errorf("no colours: %v\n%s", err, colored.String())
	}
}
