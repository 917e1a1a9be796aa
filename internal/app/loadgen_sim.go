package app

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"shedload/internal/draw"
	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
	"shedload/internal/sim"
)

// variant is a run as reports show it.
func variant(p scenario.Plan, s ledger.Summary) report.Variant {
	return report.Variant{
		Summary: s, About: p.About, Discipline: p.Server.Discipline.String(), Seed: uint64(p.Seed),
		TriggerStartS: p.Recovery.Trigger.From.Seconds(), Said: s.Sentence(),
	}
}

// simulate runs a plan in virtual time, with as many seeds as asked for. The
// variant is the run of the first seed.
func (c *cli) simulate(ctx context.Context, p scenario.Plan, o *runOptions) (report.Variant, error) {
	began := time.Now()
	var done atomic.Int64
	stop := c.waiting(func() string {
		return fmt.Sprintf("%s: simulated %d of %d", p.Variant, done.Load(), o.seeds)
	})
	defer stop()
	summaries := make([]ledger.Summary, o.seeds)
	var rows ledger.Rows
	var events int64
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range o.seeds {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			q := p
			q.Seed = p.Seed + draw.Seed(i)
			r, err := sim.Run(q)
			if err != nil {
				return err
			}
			summaries[i] = r.Summary
			if i == 0 {
				rows, events = r.Ledger.Rows(0), r.Events
			}
			done.Add(1)
			return nil
		})
	}
	over := make(chan error, 1)
	go func() { over <- group.Wait() }()
	select {
	case err := <-over:
		if err != nil {
			return report.Variant{}, err
		}
	case <-ctx.Done(): // a run under way cannot be broken off, but need not be waited for
		return report.Variant{}, context.Cause(ctx)
	}
	stop()
	v := variant(p, summaries[0])
	v.Rows = rows
	if o.seeds > 1 {
		v.Seeds = report.SeedsOf(uint64(p.Seed), summaries)
		for i, s := range summaries[1:] {
			for _, f := range p.Check(s) {
				o.unmet = append(o.unmet, failure{exitExpectation, fmt.Errorf("seed %d: %s", uint64(p.Seed)+uint64(i)+1, f)})
			}
		}
	}
	c.say("%s: simulated %s in %.2f s (%s events)", p.Variant, p.Horizon, time.Since(began).Seconds(), report.Count(events))
	return v, nil
}
