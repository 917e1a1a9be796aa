package app

import (
	"encoding/json"
	"maps"
	"slices"
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
			return starting(typed, scenarios.List()), cobra.ShellCompDirectiveDefault // files are welcome, too
		}
		s, err := scenario.Load(name, scenarios.Open)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, v := range s.Variants {
			out = append(out, name+"/"+v)
		}
		return starting(typed, out), cobra.ShellCompDirectiveNoFileComp
	}
}

// starting picks the words that begin as what was typed; not every shell does.
func starting(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}

// completeFlags completes the values of the flags of commands that run scenarios.
func completeFlags(cmd *cobra.Command) {
	complete := map[string]cobra.CompletionFunc{
		"engine": fixed(engineLive, engineSim), "format": fixed(formatTable, formatJSON),
		"set": completePath, "vary": completePath,
	}
	for flag, values := range complete {
		if cmd.Flags().Lookup(flag) != nil {
			must(cmd.RegisterFlagCompletionFunc(flag, values))
		}
	}
}

// fixed completes to one of some words.
func fixed(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return starting(typed, slices.Clone(words)), cobra.ShellCompDirectiveNoFileComp
	}
}

// must panics on the errors of registering something twice.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// completePath completes the paths of --set, and values where there is a list of them.
func completePath(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	paths := settings(args)
	const directive = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	var out []cobra.Completion
	if path, _, ok := strings.Cut(typed, "="); ok {
		for _, value := range paths[path] {
			out = append(out, path+"="+value)
		}
		return starting(typed, out), directive
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		out = append(out, path+"=")
	}
	return starting(typed, out), directive
}

// part is a piece of the JSON schema of scenarios.
type part struct {
	Properties map[string]part `json:"properties"`
	Defs       map[string]part `json:"$defs"`
	Ref        string          `json:"$ref"`
	AnyOf      []part          `json:"anyOf"`
	Items      *part           `json:"items"`
	Enum       []string        `json:"enum"`
	Type       any             `json:"type"`
}

// settings lists the paths that --set knows, and the values of those that have a
// list of them. Items are called by their names in the first scenario of args.
func settings(args []string) map[string][]string {
	var schema part
	if err := json.Unmarshal(scenario.Schema(), &schema); err != nil {
		return nil // completion is a courtesy
	}
	names := itemNames(args)
	out := map[string][]string{}
	for name, p := range schema.Properties {
		switch name {
		case "name", "about", "variants", "default", "expect", "expect_sim", "expect_live", "tables":
		default:
			schema.walk(p, name, names[name], out)
		}
	}
	return out
}

// walk adds the paths at and below p.
func (schema *part) walk(p part, path string, items []string, out map[string][]string) {
	if p.Ref != "" {
		p = schema.Defs[strings.TrimPrefix(p.Ref, "#/$defs/")]
	}
	list := p.Items
	for _, a := range p.AnyOf {
		if a.Type == "string" {
			out[path] = a.Enum
		}
		if a.Items != nil {
			list = a.Items
		}
	}
	switch {
	case len(p.Properties) > 0:
		for name, sub := range p.Properties {
			schema.walk(sub, path+"."+name, nil, out)
		}
	case list != nil && list.Ref != "":
		for _, item := range items {
			schema.walk(*list, path+"."+item, nil, out)
		}
	default:
		out[path] = p.Enum
	}
}

// itemNames lists the names of a scenario's clients, phases and classes.
func itemNames(args []string) map[string][]string {
	names := map[string][]string{}
	if len(args) == 0 {
		return names
	}
	choices, err := choose(args[:1], nil)
	if err != nil {
		return names
	}
	p := choices[0].plans[0]
	for _, x := range p.Clients {
		names["clients"] = append(names["clients"], x.Name)
	}
	for _, x := range p.Phases {
		names["phases"] = append(names["phases"], x.Name)
	}
	names["classes"] = p.ClassNames()
	return names
}
