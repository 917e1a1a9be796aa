package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"shedload/internal/boot"
	"shedload/internal/ledger"
	"shedload/internal/report"
	"shedload/internal/scenario"
)

// record begins the record of a choice; "" puts it into a new folder below runs.
func (c *cli) record(ch choice, plans []scenario.Plan, o *runOptions, dir string) (*report.Record, error) {
	m := report.Manifest{
		Build: boot.BuildInfo(), Scenario: ch.scenario.Name, Engine: o.engine, Seed: uint64(plans[0].Seed), Seeds: o.seeds,
		Command: o.command, Host: report.HostFacts(), Hashes: map[string]string{"scenario": ch.hash},
	}
	if o.remote.system != nil {
		m.Target = o.remote.system.Public
	}
	for _, p := range plans {
		text, err := report.Resolved(p)
		if err != nil {
			return nil, err
		}
		m.Resolved = append(m.Resolved, text)
	}
	if dir == "" {
		dir = c.freeFolder(ch.scenario.Name)
	}
	return report.Create(dir, m, c.now)
}

// freeFolder names a folder that does not exist yet.
func (c *cli) freeFolder(name string) string {
	base := filepath.Join("runs", name+"-"+c.now().Format("20060102-150405"))
	dir := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
		dir = base + "-" + strconv.Itoa(n)
	}
}

// tables writes those published tables whose variants have all run.
func tables(r *report.Record, s *scenario.Scenario, plans []scenario.Plan, vs []report.Variant) error {
	ran := map[string]bool{}
	summaries := make([]ledger.Summary, len(vs))
	for i, v := range vs {
		ran[v.Variant], summaries[i] = true, v.Summary
	}
	for _, t := range s.Tables {
		patterns := t.Variants
		if len(patterns) == 0 {
			patterns = []string{"*"}
		}
		needed, err := s.Select(patterns)
		if err != nil {
			return err
		}
		complete := true
		for _, name := range needed {
			complete = complete && ran[name]
		}
		if !complete {
			continue
		}
		text, err := s.Render(t, plans, summaries)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.File, err)
		}
		if err := r.AddFile(t.File, text); err != nil {
			return err
		}
	}
	return nil
}

// checkAll holds the runs against what the scenario expects of them.
func (c *cli) checkAll(s *scenario.Scenario, plans []scenario.Plan, vs []report.Variant, o *runOptions) []error {
	errs := o.unmet
	o.unmet = nil
	for i, v := range vs {
		for _, f := range plans[i].Check(v.Summary) {
			errs = append(errs, failure{exitExpectation, fmt.Errorf("%s", f)})
		}
	}
	for _, f := range s.CheckAll(plans, summariesOf(vs)) {
		errs = append(errs, failure{exitExpectation, fmt.Errorf("%s", f)})
	}
	if len(errs) == 0 {
		c.say("check: all as expected")
	}
	return errs
}

func summariesOf(vs []report.Variant) []ledger.Summary {
	out := make([]ledger.Summary, len(vs))
	for i, v := range vs {
		out[i] = v.Summary
	}
	return out
}
