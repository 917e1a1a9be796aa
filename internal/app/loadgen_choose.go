package app

import (
	"os"
	"path/filepath"
	"strings"

	"shedload/internal/report"
	"shedload/internal/scenario"
	"shedload/scenarios"
)

// choice is one scenario and those of its variants that are to run.
type choice struct {
	scenario *scenario.Scenario
	plans    []scenario.Plan
	hash     string // of the scenario's file
	// named are the variants that were asked for by their own names.
	named map[string]bool
}

// choose reads arguments SCENARIO[/VARIANT], where a scenario is a name or a file.
// Several arguments of one scenario make one choice.
func choose(args, sets []string) ([]choice, error) {
	var order []string
	variants := map[string][]string{}
	for _, arg := range args {
		name, variant := splitChoice(arg)
		if _, again := variants[name]; !again {
			order = append(order, name)
			variants[name] = nil
		}
		if variant != "" {
			variants[name] = append(variants[name], variant)
		}
	}
	var out []choice
	for _, name := range order {
		c, err := chooseFrom(name, variants[name], sets)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func chooseFrom(name string, variants, sets []string) (choice, error) {
	open := opener(name)
	text, err := open(name)
	if err != nil {
		return choice{}, err
	}
	c := choice{hash: report.Hash(text), named: map[string]bool{}}
	if c.scenario, err = scenario.Load(name, open); err != nil {
		return choice{}, err
	}
	for _, v := range variants {
		c.named[v] = true
	}
	selected, err := c.scenario.Select(variants)
	if err != nil {
		return choice{}, err
	}
	// What is wrong with an override is wrong in each variant: it is said of the first.
	if _, err = c.scenario.Plans(selected[:1], sets...); err != nil {
		return choice{}, err
	}
	c.plans, err = c.scenario.Plans(selected, sets...)
	return c, err
}

// isFile reports whether a scenario's name is that of a file on disk.
func isFile(name string) bool {
	return strings.HasPrefix(name, ".") || filepath.IsAbs(name) || isYAML(name)
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func opener(name string) func(string) ([]byte, error) {
	if isFile(name) {
		return os.ReadFile
	}
	return scenarios.Open
}

// splitChoice takes SCENARIO[/VARIANT] apart. A file keeps its own slashes: what
// follows the one after .yaml is the variant.
func splitChoice(arg string) (name, variant string) {
	if isYAML(arg) {
		return arg, ""
	}
	i := strings.LastIndex(arg, "/")
	if i < 0 || isFile(arg) && !isYAML(arg[:i]) {
		return arg, ""
	}
	if !isFile(arg) && !isYAML(arg[:i]) {
		i = strings.Index(arg, "/")
	}
	return arg[:i], arg[i+1:]
}
