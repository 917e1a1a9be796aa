package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"shedload/internal/scenario"
	"shedload/scenarios"
)

func (c *cli) scenarios() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenarios", Short: "List the scenarios that come with loadgen",
		Long:    "List the scenarios that come with loadgen, with their variants. Those in brackets run only when they are named.",
		Example: "  loadgen scenarios\n  loadgen scenarios show shed-your-load > mine.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return errors.New(scenario.Unknown("word", args[0], words(cmd)))
		},
		RunE: func(*cobra.Command, []string) error {
			for _, name := range scenarios.List() {
				s, err := scenario.Load(name, scenarios.Open)
				if err != nil {
					return err
				}
				if err := c.describe(s); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "show NAME", Short: "Print a scenario's file", Args: cobra.ExactArgs(1), ValidArgsFunction: completeScenario(false),
		Long:    "Print a scenario's file as it is: to read, or to change and run.",
		Example: "  loadgen scenarios show shed-your-load > mine.yaml\n  loadgen run mine.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := opener(args[0])(args[0])
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(text)
			return err
		},
	})
	return cmd
}

// describe prints what a scenario shows and which variants it has.
func (c *cli) describe(s *scenario.Scenario) error {
	inDefault, err := s.Select(nil)
	if err != nil {
		return err
	}
	variants := ""
	for _, name := range s.Variants {
		if !slices.Contains(inDefault, name) {
			name = "(" + name + ")"
		}
		variants += " " + name
	}
	_, err = fmt.Fprintf(c.stdout, "%s\n%s\n%s\n\n", s.Name, indented(s.About), indented("variants:"+variants))
	return err
}

// indented wraps a text for a terminal, four columns in.
func indented(s string) string {
	lines := strings.Split(text.WrapSoft(s, 84), "\n")
	for i, line := range lines {
		lines[i] = "    " + strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

func (c *cli) validate() *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE...", Short: "Check scenario files", Args: cobra.MinimumNArgs(1),
		Long: `Check scenario files, all of them: unknown keys, wrong units, impossible values and
expectations about figures that do not exist, each with file, line, column and what is
allowed. Names of scenarios are accepted as well. Exit code 2 where something is wrong.`,
		Example: "  loadgen validate mine.yaml\n  loadgen validate scenarios/*.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			var errs []error
			for _, name := range args {
				s, err := scenario.Load(name, opener(name))
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(c.stdout, "%s: fine, %d variants\n", name, len(s.Variants))
			}
			return errors.Join(errs...)
		},
	}
}

func (c *cli) schema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of scenario files", Args: cobra.NoArgs,
		Long:    "Print the JSON schema of scenario files, for editors that complete and check YAML by it.",
		Example: "  loadgen schema > scenario.schema.json",
		RunE: func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(scenario.Schema())
			return err
		},
	}
}
