package scenario

import (
	"fmt"
	"strings"
)

// maxListed bounds how many names a complaint lists.
const maxListed = 60

// Unknown words the complaint about a name that does not exist: the nearest one
// that does, and all of them.
func Unknown(what, name string, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("unknown %s %q: there is none", what, name)
	}
	hint := ""
	if near := nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	more := ""
	if len(known) > maxListed {
		known, more = known[:maxListed], fmt.Sprintf(" and %d more", len(known)-maxListed)
	}
	return fmt.Sprintf("unknown %s %.64q: %sallowed are %s%s", what, name, hint, strings.Join(known, ", "), more)
}

// nearest returns the known name that takes the fewest edits to reach, if those
// are few for its length.
func nearest(name string, known []string) string {
	best, at := "", min(len(name), 1+max(1, len(name)/3))
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < at {
			best, at = k, d
		}
	}
	return best
}

// edits is the distance of Levenshtein, with one row of the table kept.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 { // a name this long has no near miss
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
