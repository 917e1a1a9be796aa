package app

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
)

// junit is the part of the format that this test looks at; internal/report checks all of it.
type junit struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func readJUnit(t *testing.T, name string) (j junit) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, &j); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return j
}

// TestCheckTellsCISystems checks a scenario that meets its expectations and one that
// does not: exit code, JUnit XML and Markdown agree.
func TestCheckTellsCISystems(t *testing.T) {
	workdir(t)
	run := []string{"run", "--engine", "sim", "--check", "--junit", "junit.xml", "--summary", "summary.md"}

	if code, _, stderr := loadgen(t, nil, append(run, "calm.yaml", "--out", "good")...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	j := readJUnit(t, "junit.xml")
	// Two variants run and meet one expectation each; then they are compared.
	if j.Tests != 5 || j.Failures+j.Errors+j.Skipped != 0 || len(j.Suites) != 1 || j.Suites[0].Name != "calm (sim)" || len(j.Suites[0].Cases) != 5 {
		t.Errorf("got %+v, want five cases that hold", j)
	}

	code, _, stderr := loadgen(t, nil, append(run, "hopeful.yaml", "--out", "bad")...)
	if code != exitExpectation {
		t.Fatalf("exit code %d, want %d: %s", code, exitExpectation, stderr)
	}
	j = readJUnit(t, "junit.xml")
	if j.Tests != 5 || j.Failures != 2 || j.Errors != 0 {
		t.Errorf("got %+v, want two failures", j)
	}
	for _, c := range j.Suites[0].Cases {
		if failed := c.Name == "goodput_share > 1"; failed != (c.Failure != nil) || failed && !strings.Contains(c.Failure.Message, "goodput_share = 1") {
			t.Errorf("%s: %+v", c.Name, c.Failure)
		}
	}
	// The summary was appended to.
	text, err := os.ReadFile("summary.md")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "\n## ") != 1 || !strings.HasPrefix(string(text), "## ✅ calm (sim)") || !strings.Contains(string(text), "## ❌ calm (sim)") {
		t.Errorf("the summary is\n%s", text)
	}
}

// TestWithoutCheckOnlyValidityIsACase leaves expectations out that nobody asked to
// check, and shows what was not run.
func TestWithoutCheckOnlyValidityIsACase(t *testing.T) {
	workdir(t)
	if code, _, stderr := loadgen(t, nil, "run", "hopeful.yaml", "--engine", "sim", "--junit", "junit.xml"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if j := readJUnit(t, "junit.xml"); j.Tests != 2 || j.Failures != 0 {
		t.Errorf("got %+v, want two valid runs", j)
	}
	if code, _, stderr := loadgen(t, nil, "run", "calm.yaml", "--engine", "sim", "--junit", "no/such/folder.xml"); code != exitUsage || !strings.Contains(stderr, "there is no folder no/such") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	code, _, _ := loadgen(t, nil, "run", "calm.yaml", "--target", "http://127.0.0.1:1", "--junit", "junit.xml")
	if j := readJUnit(t, "junit.xml"); code != exitInvalid || j.Errors != 1 || j.Skipped != 1 {
		t.Errorf("exit code %d, got %+v, want one error and one variant skipped", code, j)
	}
}
