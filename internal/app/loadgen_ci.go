package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shedload/internal/report"
	"shedload/internal/scenario"
)

// ciOptions say what a CI system gets to read.
type ciOptions struct {
	junit, summary string
	suites         []report.Suite
}

func (o *ciOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.junit, "junit", "", "write what was checked to `FILE` as JUnit XML: valid runs and, with --check, each expectation")
	f.StringVar(&o.summary, "summary", "", "append a page in Markdown to `FILE.md`, such as $GITHUB_STEP_SUMMARY")
}

// validate finds out before a run what would be a pity after it.
func (o *ciOptions) validate() error {
	for flag, name := range map[string]string{"--junit": o.junit, "--summary": o.summary} {
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return fmt.Errorf("%s %s: there is no folder %s", flag, name, filepath.Dir(name))
		}
	}
	return nil
}

func (o *ciOptions) wanted() bool { return o.junit != "" || o.summary != "" }

// outcome is what became of a choice.
type outcome struct {
	choice  choice
	plans   []scenario.Plan
	runs    []report.Variant
	started time.Time
	failed  error // ended it early
}

// note takes in a choice that is over.
func (c *cli) note(x outcome, o *runOptions) {
	if !o.ci.wanted() {
		return
	}
	s := report.Suite{
		Scenario: x.choice.scenario.Name, Engine: o.engine, Started: x.started, Took: c.now().Sub(x.started), Variants: x.runs,
	}
	for _, p := range x.choice.plans {
		if !slices.ContainsFunc(x.plans, func(q scenario.Plan) bool { return q.Variant == p.Variant }) {
			s.Skipped = append(s.Skipped, report.Skip{Variant: p.Variant, Reason: p.Live.Skip})
		}
	}
	for i, p := range x.plans {
		s.Cases = append(s.Cases, x.cases(i, p, o)...)
	}
	if o.check {
		s.Cases = append(s.Cases, x.comparisons(o)...)
	}
	o.ci.suites = append(o.ci.suites, s)
}

// cases are those of one plan, which may not have come to its turn.
func (x outcome) cases(i int, p scenario.Plan, o *runOptions) []report.Case {
	ran := report.Case{Variant: p.Variant, Name: "runs"}
	if i >= len(x.runs) {
		ran.Broken = fmt.Sprintf("%s/%s did not run to its end", p.Scenario, p.Variant)
		if x.failed != nil {
			ran.Broken += ": " + x.failed.Error()
		}
		return []report.Case{ran}
	}
	v := x.runs[i]
	ran.Took = time.Duration(v.HorizonS * float64(time.Second))
	for _, err := range invalidities(v) {
		ran.Broken += err.Error() + "\n"
	}
	ran.Broken = strings.TrimSuffix(ran.Broken, "\n")
	out := []report.Case{ran}
	if !o.check {
		return out
	}
	failures := p.Check(v.Summary)
	for _, text := range p.Expectations(v.Engine) {
		held := report.Case{Variant: p.Variant, Name: text}
		for _, f := range failures {
			if f.Expect == text {
				held.Failed = f.String()
			}
		}
		out = append(out, held)
	}
	return out
}

// comparisons is the one case of all that compares variants, and seeds.
func (x outcome) comparisons(o *runOptions) []report.Case {
	var texts []string
	for _, f := range x.choice.scenario.CheckAll(x.plans, summariesOf(x.runs)) {
		texts = append(texts, f.String())
	}
	all := report.Case{Variant: "all", Name: "variants compare as expected", Failed: strings.Join(texts, "\n")}
	if o.seeds == 1 {
		return []report.Case{all}
	}
	var unmet []string
	for _, err := range o.unmet {
		unmet = append(unmet, err.Error())
	}
	return []report.Case{all, {Variant: "all", Name: "other seeds are as expected", Failed: strings.Join(unmet, "\n")}}
}

// write writes the files that were asked for.
func (o *ciOptions) write() error {
	err := writeFile(o.junit, os.O_TRUNC, func(w io.Writer) error { return report.WriteJUnit(w, o.suites) })
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	err = writeFile(o.summary, os.O_APPEND, func(w io.Writer) error { return report.WriteMarkdown(w, o.suites) })
	if err != nil {
		return fmt.Errorf("--summary: %w", err)
	}
	return nil
}

// writeFile writes a file; no name writes none.
func writeFile(name string, mode int, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
