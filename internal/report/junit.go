package report

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"time"
)

// Suite is what a CI system is told of one scenario.
type Suite struct {
	Scenario, Engine string
	Started          time.Time
	Took             time.Duration
	Cases            []Case
	// Variants are the runs, for the summary; Skipped those that were not run.
	Variants []Variant
	Skipped  []Skip
}

// Case is one thing that is held to be so: a valid run, or an expectation.
type Case struct {
	Variant, Name string
	Took          time.Duration
	// Failed says what was not as expected, Broken why there is no result to judge;
	// both empty: it is so.
	Failed, Broken string
}

// Skip is a variant that was not run, and why.
type Skip struct{ Variant, Reason string }

// Met reports whether all cases are so.
func (s Suite) Met() bool {
	failures, errors := s.faults()
	return failures+errors == 0
}

func (s Suite) faults() (failures, errors int) {
	for _, c := range s.Cases {
		switch {
		case c.Broken != "":
			errors++
		case c.Failed != "":
			failures++
		}
	}
	return failures, errors
}

// The elements of the JUnit format, as Jenkins, GitLab, GitHub's actions and others
// read it.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		junitCounts
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     junitSeconds `xml:"time,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    junitSeconds `xml:"time,attr"`
		Failure *junitFault  `xml:"failure"`
		Error   *junitFault  `xml:"error"`
		Skipped *junitFault  `xml:"skipped"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

type junitSeconds time.Duration

// MarshalText writes seconds with three decimals.
func (s junitSeconds) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', 3, 64), nil
}

// WriteJUnit writes suites in the JUnit format: a run that is valid, and each
// expectation, is a test case.
func WriteJUnit(w io.Writer, suites []Suite) error {
	out := junitSuites{junitCounts: junitCounts{Name: "shedload"}}
	for _, s := range suites {
		j := s.junit()
		out.Suites = append(out.Suites, j)
		out.Tests += j.Tests
		out.Failures += j.Failures
		out.Errors += j.Errors
		out.Skipped += j.Skipped
		out.Time += j.Time
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s Suite) junit() junitSuite {
	name := s.Scenario + " (" + s.Engine + ")"
	j := junitSuite{Timestamp: s.Started.UTC().Format("2006-01-02T15:04:05")}
	j.Name, j.Tests, j.Skipped, j.Time = name, len(s.Cases)+len(s.Skipped), len(s.Skipped), junitSeconds(s.Took)
	j.Failures, j.Errors = s.faults()
	for _, c := range s.Cases {
		jc := junitCase{Class: s.Scenario + "." + c.Variant, Name: c.Name, Time: junitSeconds(c.Took)}
		switch {
		case c.Broken != "":
			jc.Error = &junitFault{Message: firstLine(c.Broken), Type: "invalid", Text: c.Broken}
		case c.Failed != "":
			jc.Failure = &junitFault{Message: firstLine(c.Failed), Type: "expectation", Text: c.Failed}
		}
		j.Cases = append(j.Cases, jc)
	}
	for _, skip := range s.Skipped {
		j.Cases = append(j.Cases, junitCase{
			Class: s.Scenario + "." + skip.Variant, Name: "runs", Skipped: &junitFault{Message: strings.TrimSpace(skip.Reason)},
		})
	}
	return j
}
