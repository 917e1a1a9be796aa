package report

import (
	"fmt"
	"io"
	"strings"
)

// markdownColumns are the columns of the summary, after the variant's name.
var markdownColumns = []line{
	{"verdict", func(v *Variant) string { return v.Recovery.Verdict }},
	{"users", func(v *Variant) string { return v.Recovery.UsersVerdict }},
	{"requests", func(v *Variant) string { return Count(v.Requests.Total) }},
	{"attempts", func(v *Variant) string { return Count(v.Attempts.Total) }},
	{"throughput/s", func(v *Variant) string { return onServer(v, figure(v.ThroughputPS)) }},
	{"goodput/s", func(v *Variant) string { return figure(v.GoodputClPS) }},
	{"goodput share", func(v *Variant) string { return onServer(v, percent(v.GoodputShare)) }},
	{"amplification", func(v *Variant) string { return figure(v.Amplification) }},
	{"peak queue", func(v *Variant) string { return onServer(v, Count(v.Peak.Queue)) }},
	{"refused", func(v *Variant) string { return some(v.Attempts.RefusedTotal) }},
	{"dropped", func(v *Variant) string { return some(v.Attempts.DroppedTotal) }},
}

// WriteMarkdown writes suites as a page that CI systems show beside a build: for
// each a table, what it says in words, and what was not as expected.
func WriteMarkdown(w io.Writer, suites []Suite) error {
	var b strings.Builder
	for _, s := range suites {
		s.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Suite) markdown(b *strings.Builder) {
	mark := "✅"
	if !s.Met() {
		mark = "❌"
	}
	fmt.Fprintf(b, "## %s %s (%s)\n\n", mark, markdownText(s.Scenario), s.Engine)
	if len(s.Variants) > 0 {
		s.markdownTable(b)
	}
	for _, v := range s.Variants {
		fmt.Fprintf(b, "- **%s**: %s\n", markdownText(v.Heading()), markdownText(v.Said))
	}
	for _, skip := range s.Skipped {
		fmt.Fprintf(b, "- *%s*: not run, because %s\n", markdownText(skip.Variant), markdownText(skip.Reason))
	}
	b.WriteString("\n")
	if s.Met() {
		return
	}
	b.WriteString("Not as it should be:\n\n")
	for _, c := range s.Cases {
		if text := c.Broken + c.Failed; text != "" {
			fmt.Fprintf(b, "- %s\n", markdownText(text))
		}
	}
	b.WriteString("\n")
}

func (s Suite) markdownTable(b *strings.Builder) {
	b.WriteString("| variant |")
	for _, c := range markdownColumns {
		fmt.Fprintf(b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", 2) + strings.Repeat("---:|", len(markdownColumns)-2) + "\n")
	for i := range s.Variants {
		v := &s.Variants[i]
		fmt.Fprintf(b, "| %s |", markdownText(v.Heading()))
		for _, c := range markdownColumns {
			fmt.Fprintf(b, " %s |", orDash(c.value(v)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// markdownText keeps a text on one line, and from meaning anything in Markdown or HTML.
var markdownText = strings.NewReplacer(
	"\n", " ", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;",
).Replace
