package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks: what the documents point at inside the repository exists, and so do
// the headings.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	seen := 0
	for _, path := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, path), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			seen++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(path), found[1], err)
			} else if anchor != "" && !headings(read(t, file))[anchor] {
				t.Errorf("%s: %s: no such heading", filepath.Base(path), found[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d links: the test shows nothing", seen)
	}
}

// headings returns the names by which a document's headings can be pointed at.
func headings(text string) map[string]bool {
	names := map[string]bool{}
	other := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, found := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		names[strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")] = true
	}
	return names
}
