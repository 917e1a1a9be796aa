package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"shedload/internal/scenario"
)

// maxSweep bounds the runs of a sweep.
const maxSweep = 1000

func (c *cli) sweep() *cobra.Command {
	var o runOptions
	var vary string
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO[/VARIANT]... --vary path=a,b,c",
		Short: "Run a scenario for each of several values of one setting",
		Long: `Run a scenario for each of several values of one of its settings, and print a line for
each. Virtual time by default, because it takes a second; --engine live runs them all on
real processes. Values that have commas themselves are separated by semicolons.`,
		Example: `  loadgen sweep shed-your-load/deadline --vary server.drop_margin=0s,30ms,45ms,55ms,70ms,250ms
  loadgen sweep shed-your-load/fifo --vary phases.spike.for=1s,2s,5s,10s --seeds 20
  loadgen sweep shed-your-load/fifo --vary 'backend.service_time=50ms;exp:50ms;lognormal:50ms,p99=200ms'
  loadgen sweep shed-your-load-short/deadline --vary server.drop_margin=0s,70ms --engine live`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("sweep what? name a scenario (loadgen scenarios lists them) or a file")
			}
			return nil
		},
		ValidArgsFunction: completeScenario(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			path, values, err := parseVary(vary)
			if err != nil {
				return err
			}
			choices, err := chooseSweep(args, o.sets, path, values)
			if err != nil {
				return err
			}
			o.rows, o.command = true, append([]string{"sweep"}, append(args, "--vary", vary)...)
			if o.plan {
				return c.plan(cmd.Context(), choices, &o)
			}
			_, err = c.runAll(cmd.Context(), choices, &o)
			return err
		},
	}
	o.flags(cmd, engineSim)
	cmd.Flags().StringVar(&vary, "vary", "", "the setting and its values, `path=a,b,c`")
	must(cmd.MarkFlagRequired("vary"))
	completeFlags(cmd)
	return cmd
}

// parseVary takes path=a,b,c apart.
func parseVary(text string) (path string, values []string, err error) {
	path, list, ok := strings.Cut(text, "=")
	separator := ","
	if strings.Contains(list, ";") {
		separator = ";"
	}
	values = strings.Split(list, separator)
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
		ok = ok && values[i] != ""
	}
	switch {
	case !ok || path == "":
		return "", nil, fmt.Errorf("--vary %q: is written path=a,b,c, such as server.drop_margin=0s,70ms", text)
	case len(values) > maxSweep:
		return "", nil, fmt.Errorf("--vary: %d values, at most %d are allowed", len(values), maxSweep)
	}
	return path, values, nil
}

// chooseSweep makes of each variant as many as there are values. Their names are
// VARIANT@PATH=VALUE.
func chooseSweep(args, sets []string, path string, values []string) ([]choice, error) {
	choices, err := choose(args, sets)
	if err != nil {
		return nil, err
	}
	for i := range choices {
		ch := &choices[i]
		selection := make([]string, len(ch.plans))
		for k, p := range ch.plans {
			selection[k] = p.Variant
		}
		var plans []scenario.Plan
		for _, value := range values {
			more, err := ch.scenario.Plans(selection, append(append([]string{}, sets...), path+"="+value)...)
			if err != nil {
				return nil, err
			}
			for _, p := range more {
				p.Variant += "@" + path + "=" + value
				plans = append(plans, p)
			}
		}
		ch.plans = plans
	}
	return choices, nil
}
