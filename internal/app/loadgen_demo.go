package app

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
)

// The scenarios of the demo, and the variants that it shows.
const (
	demoShort = "shed-your-load-short"
	demoFull  = "shed-your-load"
)

var demoVariants = []string{"fifo", "lifo", "naive-deadline", "deadline"}

// lookFor says what to watch while a variant of the demo runs.
var lookFor = map[string]string{
	"fifo":           "Look for: throughput stays up, goodput falls to nothing when the spike comes, and does not\ncome back when it is over: the retries of users who have given up keep the queue full of the dead.",
	"lifo":           "Look for: goodput stays up through the spike, because the newest still have time; and the queue,\nwhich keeps everybody who was passed over.",
	"naive-deadline": "Look for: the queue stays short now. Goodput falls all the same: what is taken off the queue just\nbefore its deadline expires while it is worked on.",
	"deadline":       "Look for: both at once, goodput up and the queue short. What cannot finish in time is dropped\nbefore anybody works on it.",
}

func (c *cli) demo() *cobra.Command {
	var full bool
	o := runOptions{engine: engineLive, seeds: 1}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a service collapse, and three ways to queue that change it",
		Long: `Start an apiserver and a backend on free loopback ports, hit them with a short spike of
load, and watch throughput and goodput, under four queue disciplines in turn: fifo, lifo,
and two that drop by deadline. The arrivals are the same each time. Takes under two
minutes; with --full it is the published experiment, of 90 seconds each.`,
		Example: `  loadgen demo
  loadgen demo --full --out demo-record`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validFormat(o.format); err != nil {
				return err
			}
			return c.runDemo(cmd.Context(), full, &o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&full, "full", false, "the whole published experiment: 90 s for each discipline")
	f.StringVar(&o.out, "out", "", "folder for the record (default runs/SCENARIO-DATE-TIME)")
	f.StringVar(&o.format, "format", formatTable, "table or json")
	completeFlags(cmd)
	return cmd
}

func (c *cli) runDemo(ctx context.Context, full bool, o *runOptions) error {
	name := demoShort
	o.command = []string{"demo"}
	if full {
		name, o.command = demoFull, []string{"demo", "--full"}
	}
	var args []string
	for _, v := range demoVariants {
		args = append(args, name+"/"+v)
	}
	choices, err := choose(args, nil)
	if err != nil {
		return err
	}
	o.before = func(i int, p scenario.Plan) {
		if i == 0 {
			c.introduce(p, len(choices[0].plans))
		}
		c.say("\n%d of %d: %s. %s\n%s", i+1, len(choices[0].plans), p.Variant, p.About, lookFor[p.Variant])
	}
	o.after = c.pictures
	vs, err := c.runAll(ctx, choices, o)
	if o.format != formatTable || len(vs) == 0 {
		return err
	}
	return worst([]error{err, c.conclude(vs)})
}

// introduce says what the demo is made of, in the plan's own numbers.
func (c *cli) introduce(p scenario.Plan, variants int) {
	users, spike := p.Clients[0], p.Phases[0]
	c.say(`Three processes on this machine, real HTTP: loadgen plays users, an apiserver queues what they
ask for, a backend with %d workers does it (%s each). %s users a second come, wait %s, and try
again if there is no answer; from %s on for %s they are %s a second. The same %s for each of
%d queue disciplines: only who is served next, and who is dropped, differs.`,
		p.Backend.Workers, p.Backend.ServiceTime, report.Count(int64(users.Arrivals.Rate)), users.Patience,
		spike.At, spike.For, report.Count(int64(spike.Rate)), p.Horizon, variants)
}

// pictures draws the worst and the best of the demo.
func (c *cli) pictures(vs []report.Variant) error {
	shown := vs
	if len(vs) > 2 {
		shown = []report.Variant{vs[0], vs[len(vs)-1]}
	}
	for _, v := range shown {
		fmt.Fprintln(c.stdout)
		if err := report.WriteGraph(c.stdout, v, c.style); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(c.stdout)
	return err
}

// conclude says what was seen, and what to type next.
func (c *cli) conclude(vs []report.Variant) error {
	fmt.Fprintf(c.stdout, "\n%s\nNext:\n", seen(vs))
	command := commandName()
	for _, next := range []struct{ words, why string }{
		{"demo --full", "the published experiment at its full length"},
		{"run shed-your-load --engine sim", "the same in virtual time: a second instead of minutes"},
		{"run " + demoShort + "/fifo --set server.discipline=adaptive-lifo+controlled-delay", "your own idea of a cure"},
		{"scenarios", "what else there is"},
	} {
		if _, err := fmt.Fprintf(c.stdout, "  %s %s\n      %s\n", command, next.words, next.why); err != nil {
			return err
		}
	}
	return nil
}

// seen compares the variants in a sentence or two.
func seen(vs []report.Variant) string {
	least, most := vs[0].ThroughputPS, vs[0].ThroughputPS
	var fell, held []string
	for _, v := range vs {
		least, most = min(least, v.ThroughputPS), max(most, v.ThroughputPS)
		if v.Recovery.Verdict == ledger.Steady || v.Recovery.Verdict == ledger.Recovered {
			held = append(held, fmt.Sprintf("%s (%.0f %%)", v.Variant, 100*v.GoodputShare))
		} else {
			fell = append(fell, fmt.Sprintf("%s (%.0f %%)", v.Variant, 100*v.GoodputShare))
		}
	}
	text := fmt.Sprintf("What you saw: throughput was %.0f/s to %.0f/s under each discipline; it tells nothing.", least, most)
	if len(fell) > 0 {
		text += "\nGoodput is what users get. It stayed down, long after the spike, under " + strings.Join(fell, " and ") + "."
	}
	if len(held) > 0 {
		text += "\nIt held under " + strings.Join(held, " and ") + ". In brackets: how much of the finished work was still wanted."
	}
	return text
}

// commandName is how this program was started: go run builds into a folder that is
// gone when it ends.
func commandName() string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") {
		return "go run ./cmd/loadgen"
	}
	return "loadgen"
}
