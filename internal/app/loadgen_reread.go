package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"shedload/internal/report"
)

func (c *cli) report() *cobra.Command {
	o := runOptions{}
	cmd := &cobra.Command{
		Use: "report DIR", Short: "Show the record of a run again", Args: cobra.ExactArgs(1),
		Long:    "Print the table of a recorded run again, and write its report.html anew. The numbers come from the record alone.",
		Example: "  loadgen report runs/shed-your-load-20260101-120000",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := validFormat(o.format); err != nil {
				return err
			}
			page, err := report.Open(args[0])
			if err != nil {
				return err
			}
			path := filepath.Join(args[0], report.PageFile)
			if err := writePage(path, page); err != nil {
				return err
			}
			c.say("written: %s", path)
			if o.format == formatJSON {
				return report.WriteJSON(c.stdout, report.Document{Variants: page.Variants})
			}
			o.seeds = page.Manifest.Seeds
			return c.show(page.Variants, &o)
		},
	}
	cmd.Flags().StringVar(&o.format, "format", formatTable, "table or json")
	completeFlags(cmd)
	return cmd
}

func writePage(path string, page report.Page) error {
	var b strings.Builder
	if err := report.WritePage(&b, page); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func (c *cli) compare() *cobra.Command {
	o := runOptions{}
	cmd := &cobra.Command{
		Use: "compare DIR...", Short: "Put the records of several runs side by side",
		Long: `Put the variants of several records side by side: two engines, two versions, two machines.
Variants of the same name stand next to each other.`,
		Example: "  loadgen compare runs/before runs/after",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("compare what? name at least two folders of records")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := validFormat(o.format); err != nil {
				return err
			}
			vs, err := readAll(args)
			if err != nil {
				return err
			}
			if o.format == formatJSON {
				return report.WriteJSON(c.stdout, report.Document{Variants: vs})
			}
			return report.WriteTable(c.stdout, vs, c.style)
		},
	}
	cmd.Flags().StringVar(&o.format, "format", formatTable, "table or json")
	completeFlags(cmd)
	return cmd
}

// readAll reads records, and sorts their variants so that those of one name stand
// together, in the order in which names and folders come.
func readAll(dirs []string) ([]report.Variant, error) {
	var names []string
	byName := map[string][]report.Variant{}
	for _, dir := range dirs {
		page, err := report.Open(dir)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Variants {
			if byName[v.Variant] == nil {
				names = append(names, v.Variant)
			}
			v.Label = fmt.Sprintf("%s (%s)", v.Variant, filepath.Base(filepath.Clean(dir)))
			byName[v.Variant] = append(byName[v.Variant], v)
		}
	}
	var out []report.Variant
	for _, name := range names {
		out = append(out, byName[name]...)
	}
	return out, nil
}
