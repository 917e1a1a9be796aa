package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shedload/internal/ledger"
)

// suites are one of each: met, not met, broken, skipped; with all that XML and
// Markdown have to escape.
func suites() []Suite {
	v := Variant{Summary: ledger.Summary{Scenario: "a|b", Variant: "fifo", Engine: "sim", View: "both"}, Said: "Goodput <fell> to 0 & stayed: collapsed."}
	v.Recovery.Verdict, v.Recovery.UsersVerdict = ledger.Collapsed, ledger.Undecided
	v.Attempts.RefusedTotal = 1234
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	return []Suite{
		{
			Scenario: "a|b", Engine: "live", Started: started, Took: 1500 * time.Millisecond, Variants: []Variant{v},
			Cases: []Case{
				{Variant: "fifo", Name: "runs", Took: 90 * time.Second},
				{Variant: "fifo", Name: "verdict == 'collapsed' && x < 3", Failed: "expected\n\"<&>\" but \x00\xff"},
				{Variant: "lifo", Name: "runs", Broken: "not delivered"},
			},
			Skipped: []Skip{{"long", "it takes an hour"}},
		},
		{Scenario: "calm", Engine: "sim", Cases: []Case{{Variant: "one", Name: "runs"}}},
	}
}

// shape is what the JUnit format allows: the elements of each element, with the
// attributes that must be there (the XSD of Jenkins' xUnit plugin, junit-10.xsd,
// as far as one of our files reaches).
var shape = map[string]struct {
	children, required, optional []string
}{
	"":           {children: []string{"testsuites"}},
	"testsuites": {[]string{"testsuite"}, []string{"name", "tests", "failures", "errors", "time"}, []string{"skipped", "disabled"}},
	"testsuite":  {[]string{"testcase", "properties", "system-out", "system-err"}, []string{"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, []string{"hostname", "id", "package"}},
	"testcase":   {[]string{"failure", "error", "skipped", "system-out", "system-err"}, []string{"name", "classname", "time"}, []string{"assertions", "status"}},
	"failure":    {nil, []string{"message", "type"}, nil},
	"error":      {nil, []string{"message", "type"}, nil},
	"skipped":    {nil, nil, []string{"message", "type"}},
}

// formats are the attributes that are not free text.
var formats = map[string]*regexp.Regexp{
	"tests": regexp.MustCompile(`^\d+$`), "failures": regexp.MustCompile(`^\d+$`), "errors": regexp.MustCompile(`^\d+$`),
	"skipped": regexp.MustCompile(`^\d+$`), "time": regexp.MustCompile(`^\d+\.\d{3}$`),
	"timestamp": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`),
}

// checkShape walks a document and counts its elements.
func checkShape(text []byte) (map[string]int, error) {
	count, path := map[string]int{}, []string{""}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count, nil
		} else if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			parent, name := path[len(path)-1], e.Name.Local
			if !slices.Contains(shape[parent].children, name) {
				return nil, fmt.Errorf("<%s> in <%s>", name, parent)
			}
			has := map[string]string{}
			for _, a := range e.Attr {
				has[a.Name.Local] = a.Value
				if f := formats[a.Name.Local]; f != nil && !f.MatchString(a.Value) {
					return nil, fmt.Errorf("<%s %s=%q>", name, a.Name.Local, a.Value)
				}
			}
			allowed := append(slices.Clone(shape[name].required), shape[name].optional...)
			for _, a := range slices.Sorted(maps.Keys(has)) {
				if !slices.Contains(allowed, a) {
					return nil, fmt.Errorf("<%s> has %s", name, a)
				}
			}
			for _, a := range shape[name].required {
				if _, ok := has[a]; !ok {
					return nil, fmt.Errorf("<%s> lacks %s", name, a)
				}
			}
			count[name]++
			if name == "testsuites" {
				for _, a := range []string{"tests", "failures", "errors", "skipped"} {
					count["all "+a], _ = strconv.Atoi(has[a])
				}
			}
			path = append(path, name)
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
}

func TestJUnitHasTheShapeOfTheFormat(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJUnit(&b, suites()); err != nil {
		t.Fatal(err)
	}
	count, err := checkShape(b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	for name, want := range map[string]int{
		"testsuite": 2, "testcase": 5, "failure": 1, "error": 1, "skipped": 1,
		"all tests": 5, "all failures": 1, "all errors": 1, "all skipped": 1,
	} {
		if count[name] != want {
			t.Errorf("%s: %d, want %d\n%s", name, count[name], want, b.String())
		}
	}
	for _, want := range []string{`classname="a|b.fifo"`, `time="90.000"`, `timestamp="2026-01-02T02:04:05"`, `message="expected"`, "it takes an hour"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteJUnit(&b, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := checkShape(b.Bytes()); err != nil {
		t.Errorf("nothing at all: %v\n%s", err, b.String())
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := WriteMarkdown(&b, suites()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## ❌ a\\|b (live)\n", "| variant | verdict | users |", "| fifo | collapsed | undecided |", " 1,234 |",
		"- **fifo**: Goodput &lt;fell&gt; to 0 &amp; stayed: collapsed.\n", "- *long*: not run, because it takes an hour\n",
		"Not as it should be:\n", "- not delivered\n", "## ✅ calm (sim)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	columns := -1
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|")
		if columns >= 0 && n != columns {
			t.Errorf("a row of the table has %d columns, another %d: %s", n, columns, line)
		}
		columns = n
	}
}
