package boot

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
)

// masked replaces the value of a secret wherever a configuration is shown.
const masked = "(secret)"

// Setting is one variable with the value that is in force.
type Setting struct{ Name, Value string }

// Effective lists the values in force of a configuration, given a pointer to its
// struct: variables by name with the prefix, secrets masked.
func Effective(config any) []Setting {
	vars, err := Vars(config)
	if err != nil {
		panic(err) // a bug in a struct tag
	}
	settings := make([]Setting, len(vars))
	for i, v := range vars {
		value := text(reflect.ValueOf(config).Elem().FieldByIndex(v.index))
		if v.Secret && value != "" {
			value = masked
		}
		settings[i] = Setting{v.Name, value}
	}
	return settings
}

// WriteTable writes the variables as aligned lines for --help.
func WriteTable(w io.Writer, vars []Var) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range vars {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", v.Name, v.shownDefault(), v.meaning())
	}
	return t.Flush()
}

// WriteMarkdown writes the variables as a Markdown table for the README.
func WriteMarkdown(w io.Writer, vars []Var) error {
	var b strings.Builder
	b.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range vars {
		cell := strings.NewReplacer("|", `\|`, "\n", " ")
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v.Name, cell.Replace(v.shownDefault()), cell.Replace(v.meaning()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (v Var) shownDefault() string {
	switch {
	case v.Required:
		return "(required)"
	case v.Default == "":
		return "-"
	}
	return v.Default
}

func (v Var) meaning() string {
	if v.Allowed == "" {
		return v.Help
	}
	return v.Help + " (" + v.Allowed + ")"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// nearest returns the known name that is most like a wrong one, or "" when none
// is close enough to be worth suggesting.
func nearest(name string, known map[string]bool) string {
	best, bestDistance := "", max(2, len(name)/6)+1
	for _, k := range sortedKeys(known) {
		if d := distance(name, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance, one row at a time.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
