package app

import (
	"fmt"
	"path/filepath"

	"shedload/internal/report"
)

// print writes the table, a sentence for each variant, and where the record is.
func (c *cli) print(vs []report.Variant, o *runOptions, dir string) error {
	if err := c.show(vs, o); err != nil {
		return err
	}
	if o.after != nil {
		if err := o.after(vs); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.stdout, "record: %s (open %s in a browser)\n", dir, filepath.Join(dir, report.PageFile))
	return err
}

// show writes the table, and a sentence for each variant unless each has a row.
func (c *cli) show(vs []report.Variant, o *runOptions) error {
	if len(vs) == 0 {
		return nil
	}
	write := report.WriteTable
	switch {
	case o.seeds > 1:
		write = report.WriteSeeds
	case o.rows:
		write = report.WriteRows
	}
	if err := write(c.stdout, vs, c.style); err != nil || o.rows {
		return err
	}
	for _, v := range vs {
		if _, err := fmt.Fprintf(c.stdout, "%s: %s\n", v.Heading(), v.Said); err != nil {
			return err
		}
	}
	return nil
}
