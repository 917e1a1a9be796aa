package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a scenario file. Line and Column count from 1 and are 0
// for a value that came from the command line, whose File is the flag itself.
type Position struct {
	File         string
	Line, Column int
}

// String returns file:line:column, or the file alone.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing that is wrong with a scenario.
type Problem struct {
	Position
	// Path says which value is meant: "server.drop_margin", "clients[0].rate".
	Path string
	// Message says what was wrong and what is allowed.
	Message string
}

// Error returns position, path and message in one line.
func (p Problem) Error() string {
	if p.Path == "" {
		return fmt.Sprintf("%s: %s", p.Position, p.Message)
	}
	return fmt.Sprintf("%s: %s: %s", p.Position, p.Path, p.Message)
}

// maxProblems bounds how many problems are reported at once: after that many, the
// reader has lost the thread anyway.
const maxProblems = 20

// Problems are all that is wrong with a scenario, in the order of the file.
type Problems []Problem

// Error returns one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for i, p := range ps {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(ps)-i))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// problems collects problems while a tree is walked.
type problems struct{ list Problems }

func (ps *problems) add(at Position, path, format string, args ...any) {
	ps.list = append(ps.list, Problem{at, path, fmt.Sprintf(format, args...)})
}

// err returns the problems in the order of the file, one for each value: what is wrong
// in the base document is found again in every variant, perhaps in other words.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := map[Problem]bool{}
	return slices.DeleteFunc(ps.list, func(p Problem) bool {
		value := Problem{Position: p.Position, Path: p.Path}
		again := seen[value]
		seen[value] = true
		return again
	})
}

// join adds what err says to ps: problems one by one, anything else as one at a place.
func (ps *problems) join(at Position, path string, err error) {
	var list Problems
	switch {
	case err == nil:
	case errors.As(err, &list):
		ps.list = append(ps.list, list...)
	default:
		ps.add(at, path, "%s", err)
	}
}
