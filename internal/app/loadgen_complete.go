package app

import (
	"strings"

	"github.com/spf13/cobra"

	"shedload/internal/scenario"
	"shedload/scenarios"
)

// completeScenario completes SCENARIO and, with variants, SCENARIO/VARIANT.
func completeScenario(variants bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		name, _, ok := strings.Cut(typed, "/")
		if !ok || !variants || isFile(typed) {
			return scenarios.List(), cobra.ShellCompDirectiveDefault
		}
		s, err := scenario.Load(name, scenarios.Open)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, v := range s.Variants {
			out = append(out, name+"/"+v)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes the values of the flags of commands that run scenarios.
func completeFlags(cmd *cobra.Command) {
	fixed := map[string][]string{"engine": {engineLive, engineSim}, "format": {formatTable, formatJSON}}
	for flag, values := range fixed {
		if cmd.Flags().Lookup(flag) != nil {
			must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
		}
	}
}

// must panics on the errors of registering something twice.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
