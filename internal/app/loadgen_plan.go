package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"shedload/internal/boot"
	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
	"shedload/internal/sim"
)

// forecast is what a plan takes, said before it runs.
type forecast struct {
	Scenario string  `json:"scenario"`
	Variant  string  `json:"variant"`
	Engine   string  `json:"engine"`
	LengthS  float64 `json:"length_s"`
	Seed     uint64  `json:"seed"`
	Seeds    int     `json:"seeds"`
	// Sockets is the most that are open at once, as a simulation has it; Worst is the
	// most that there can be, if no attempt succeeds. Memory is for the worst.
	Sockets       int   `json:"peak_sockets"`
	Worst         int   `json:"worst_sockets"`
	LoadgenMemory int64 `json:"loadgen_bytes"`
	APIMemory     int64 `json:"apiserver_bytes"`
}

// plan prints what the choices take, and runs nothing.
func (c *cli) plan(ctx context.Context, choices []choice, o *runOptions) error {
	var all []forecast
	for _, ch := range choices {
		for _, p := range c.worthwhile(ch, o) {
			f, err := predict(p, o)
			if err != nil {
				return err
			}
			if all = append(all, f); ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	if o.format == formatJSON {
		return writeJSON(c, map[string]any{"variants": all})
	}
	return c.printPlan(all, o)
}

// predict simulates p to learn how many sockets it needs. What cannot be simulated
// is taken at its worst.
func predict(p scenario.Plan, o *runOptions) (forecast, error) {
	f := forecast{
		Scenario: p.Scenario, Variant: p.Variant, Engine: o.engine, LengthS: p.Horizon.Seconds(), Seed: uint64(p.Seed), Seeds: o.seeds,
	}
	if o.engine == engineSim {
		return f, nil
	}
	needs, err := control.NeedsOf(p)
	if err != nil {
		return f, fmt.Errorf("%s/%s: %w", p.Scenario, p.Variant, err)
	}
	f.Worst, f.LoadgenMemory, f.APIMemory = needs.Conns, needs.LoadgenMemory, needs.APIMemory
	f.Sockets = f.Worst
	if r, err := sim.Run(p); err == nil {
		f.Sockets = min(f.Worst, openWaits(p, r.Ledger.Rows(0)))
	}
	return f, nil
}

// openWaits is the most attempts that were open at the end of a second.
func openWaits(p scenario.Plan, rows ledger.Rows) int {
	var open, most int64
	for _, r := range rows {
		open += r.Sent - r.GoodputClient - r.TimedOut - r.ClientErrors - r.Refused - r.Failed
		if !p.Server.SilentDrops {
			open -= r.Dropped
		}
		most = max(most, open)
	}
	return int(most)
}

func (c *cli) printPlan(all []forecast, o *runOptions) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	head := table.Row{"plan", "length", "seeds"}
	if o.engine == engineLive {
		head = append(head, "peak sockets", "at worst", "loadgen memory", "apiserver memory")
	}
	t.AppendHeader(head)
	var total time.Duration
	worst := 0
	for _, f := range all {
		length := time.Duration(f.LengthS * float64(time.Second))
		total, worst = total+length, max(worst, f.Worst)
		row := table.Row{f.Scenario + "/" + f.Variant, length, f.seeds()}
		if o.engine == engineLive {
			row = append(row, report.Count(int64(f.Sockets)), report.Count(int64(f.Worst)), "< "+report.Bytes(f.LoadgenMemory), "< "+report.Bytes(f.APIMemory))
		}
		t.AppendRow(row)
	}
	if _, err := fmt.Fprintln(c.stdout, t.Render()); err != nil {
		return err
	}
	if o.engine == engineSim {
		_, err := fmt.Fprintln(c.stdout, "virtual time: about a second a run")
		return err
	}
	if have := boot.FileLimit(); have > 0 {
		fmt.Fprintf(c.stdout, "file limit: %s, of which each process needs up to %s\n", report.Count(int64(have)), report.Count(int64(worst)))
	}
	_, err := fmt.Fprintf(c.stdout, "takes %s, and a second or two between runs\n", total)
	return err
}

func (f forecast) seeds() string {
	if f.Seeds == 1 {
		return fmt.Sprint(f.Seed)
	}
	return fmt.Sprintf("%d to %d", f.Seed, f.Seed+uint64(f.Seeds)-1)
}
