package app

import (
	"context"
	"fmt"

	"shedload/internal/client"
	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
)

// live runs a plan on real processes and has its rows kept as they come.
func (c *cli) live(ctx context.Context, p scenario.Plan, o *runOptions, keep func(ledger.Rows) error) (report.Variant, error) {
	plain, err := o.remote.plain.request()
	if err != nil {
		return report.Variant{}, err
	}
	client.MoreProcs()
	progress := c.progress(p.Variant)
	var lost error // of the record, which must not end the run
	options := control.Options{Plan: p, Target: o.remote.system, Force: o.remote.force, Plain: plain, Progress: func(at control.Progress) {
		progress.tick(at)
		if err := keep(at.Rows); err != nil && lost == nil {
			lost = err
		}
	}}
	if !c.terminal && !c.quiet {
		options.Spawn.Log = c.stderr
	}
	progress.start(p)
	result, err := control.Run(ctx, options)
	progress.done()
	if err != nil {
		return report.Variant{}, invalid(fmt.Errorf("%s/%s: %w", p.Scenario, p.Variant, err))
	}
	v := variant(p, result.Summary)
	v.Rows = result.Rows
	if result.Incident != nil {
		v.Incident = result.Incident.Error()
	}
	v.Processes = processes(result.Usage, result.Summary.HorizonS)
	if lost != nil {
		return v, invalid(lost)
	}
	return v, nil
}

func processes(usage map[string]control.Usage, seconds float64) map[string]report.Process {
	out := map[string]report.Process{}
	for name, u := range usage {
		if !u.Measured {
			continue
		}
		p := report.Process{CPUS: u.CPU.Seconds(), PeakRSS: u.PeakRSS}
		if seconds > 0 {
			p.Cores = p.CPUS / seconds
		}
		out[name] = p
	}
	return out
}
