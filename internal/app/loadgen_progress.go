package app

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
)

// progress shows a live run while it goes on: on a terminal a block that is
// rewritten each second, elsewhere a line every few seconds and at each change of phase.
type progress struct {
	w        io.Writer
	name     string
	terminal bool
	color    bool
	silent   bool
	width    int
	horizon  time.Duration
	phase    string // of the last line
	lines    int    // of the block on the screen
}

func (c *cli) progress(name string) *progress {
	return &progress{w: c.stderr, name: name, terminal: c.terminal, color: c.color, silent: c.quiet, width: width(c.stderr)}
}

// plainEvery is how many seconds lie between two lines.
const plainEvery = 5

func (p *progress) start(plan scenario.Plan) {
	p.horizon = plan.Horizon
	if !p.silent && !p.terminal {
		fmt.Fprintf(p.w, "%s: %s of live load\n", p.name, plan.Horizon)
	}
}

func (p *progress) tick(at control.Progress) {
	switch {
	case p.silent:
	case p.terminal:
		p.block(at)
	case at.Phase != p.phase || int(at.At/time.Second)%plainEvery == 0 || at.Left == 0:
		p.phase = at.Phase
		fmt.Fprintf(p.w, "%s: %4s of %s  %-9s offered %6s/s  throughput %4s/s  goodput %4s/s  queue %7s  %s\n",
			p.name, seconds(at.At), p.horizon, or(at.Phase, "baseline"), report.Count(at.Row.Offered), report.Count(at.Row.Throughput),
			report.Count(at.Row.GoodputClient), report.Count(at.Row.Queue), at.State)
	}
}

// done leaves the last block on the screen.
func (p *progress) done() {
	if p.lines > 0 {
		fmt.Fprintln(p.w)
		p.lines = 0
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d/time.Second)) }

// The parts of a block, in characters.
const (
	barWidth   = 30
	sparkWidth = 40
)

// block rewrites the block in place.
func (p *progress) block(at control.Progress) {
	if p.lines > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA", p.lines)
	}
	last := at.Rows[max(0, len(at.Rows)-sparkWidth):]
	figure := func(name, color string, value func(ledger.Row) int64) string {
		return fmt.Sprintf("  %-11s%9s/s  %s", name, report.Count(value(at.Row)), p.paint(color, spark(last, value)))
	}
	lines := []string{
		fmt.Sprintf("%s  %s  %s left  %s", p.name, bar(at.At, p.horizon), seconds(at.Left), p.paint("1", or(at.Phase, "baseline"))),
		figure("offered", "90", func(r ledger.Row) int64 { return r.Offered }),
		figure("throughput", "34", func(r ledger.Row) int64 { return r.Throughput }),
		figure("goodput", "32", func(r ledger.Row) int64 { return r.GoodputClient }),
		fmt.Sprintf("  %-11s%9s    %s", "queue", report.Count(at.Row.Queue), spark(last, func(r ledger.Row) int64 { return r.Queue })),
		"  " + p.paint(stateColor[at.State], at.State),
	}
	for _, l := range lines {
		if p.width > 0 { // a line that wraps would be two lines when it is rewritten
			l = text.Trim(l, p.width-1)
		}
		fmt.Fprintf(p.w, "\r\x1b[K%s\n", l)
	}
	p.lines = len(lines)
}

var stateColor = map[string]string{
	ledger.Healthy: "32", ledger.Overloaded: "33", ledger.Down: "1;31", ledger.Recovering: "36",
}

func (p *progress) paint(color, s string) string {
	if !p.color || color == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// bar shows how much of the time is over.
func bar(at, of time.Duration) string {
	n := barWidth
	if of > 0 {
		n = min(barWidth, int(int64(barWidth)*int64(at)/int64(of)))
	}
	return strings.Repeat("█", n) + strings.Repeat("░", barWidth-n)
}

var sparks = []rune("▁▂▃▄▅▆▇█")

// spark draws values as a row of blocks, the largest of them full.
func spark(rows ledger.Rows, value func(ledger.Row) int64) string {
	most := int64(1)
	for _, r := range rows {
		most = max(most, value(r))
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteRune(sparks[max(0, value(r))*int64(len(sparks)-1)/most])
	}
	return b.String()
}

// waitingAfter is how long something may take before it says what it does.
const waitingAfter = 2 * time.Second

// waiting repeats what say returns until stop is called, which may be more than once.
func (c *cli) waiting(say func() string) (stop func()) {
	if c.quiet {
		return func() {}
	}
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(waitingAfter)
		defer tick.Stop()
		shown := false
		for {
			select {
			case <-tick.C:
				if c.terminal {
					fmt.Fprintf(c.stderr, "\r\x1b[K%s", say())
				} else {
					fmt.Fprintln(c.stderr, say())
				}
				shown = true
			case <-over:
				if shown && c.terminal {
					fmt.Fprint(c.stderr, "\r\x1b[K")
				}
				return
			}
		}
	}()
	stopped := false
	return func() {
		if !stopped {
			stopped = true
			close(over)
			<-gone
		}
	}
}
