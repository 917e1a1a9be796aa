package readme

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shedload/internal/app"
)

// proof is where a command is run that is too long, or needs too much, for this
// test: a file, and a text in it.
type proof struct{ file, text string }

// elsewhere are those commands.
var elsewhere = map[string][]proof{
	"go run ./cmd/loadgen demo": {
		{"internal/app/loadgen_sim_test.go", "func TestDemoInVirtualTime("},
		{"test/e2e/collapse_test.go", `"shed-your-load-short/fifo", "shed-your-load-short/deadline"`},
		{"test/e2e/collapse_test.go", `"shed-your-load-short/lifo", "shed-your-load-short/naive-deadline"`},
	},
	"go run ./cmd/loadgen demo --full": {
		{"internal/app/loadgen_sim_test.go", "func TestDemoInVirtualTime("},
		{"test/e2e/collapse_test.go", `"shed-your-load/fifo"`},
		{"test/e2e/collapse_test.go", `"shed-your-load/deadline"`},
	},
	"go run ./cmd/loadgen run shed-your-load-short/deadline --set server.drop_margin=auto": {
		{"test/e2e/collapse_test.go", `"shed-your-load-short/deadline"`},
		{"test/bubble/collapse_test.go", "func TestTheAutoMarginFindsThePlateau("},
	},
	"go run ./cmd/loadgen run mine.yaml --target 'http://127.0.0.1:8000/search?q=tea' --check": {
		{"internal/app/loadgen_plain_test.go", "func TestAnyServiceGetsAVerdict("},
	},
	"go run ./cmd/loadgen drift shed-your-load": {{"internal/app/loadgen_drift_test.go", "func TestDrift("}},
	"go test ./...":        {{".ci/run", "go test ./...\n"}},
	"docker compose up -d": {{"test/compose/rig_test.go", `"up", "-d"`}, {"test/compose/stack_test.go", "func TestStack("}},
	"docker compose exec loadgen loadgen spike --follow": {
		{"test/compose/stack_test.go", `s.loadgen("spike"`},
		{"internal/app/loadgen_spike.go", `"follow"`},
	},
	"docker compose exec loadgen loadgen policy set discipline=deadline drop_margin=70ms": {
		{"test/compose/stack_test.go", `s.loadgen("policy", "set", "discipline=deadline", "drop_margin=70ms")`},
	},
}

// command is a line of a console block, with what the block shows of its output.
type command struct {
	where, text string
	output      []string
}

// commands returns the lines of all documents that people are to type.
func commands(t *testing.T) []command {
	t.Helper()
	comment := regexp.MustCompile(`\s+# .*$`)
	var all []command
	for _, path := range documents(t) {
		for _, b := range blocks(t, path) {
			if b.kind != "console" {
				continue
			}
			for i, line := range b.lines {
				text, ok := strings.CutPrefix(line, "$ ")
				switch {
				case !ok && i == 0:
					t.Fatalf("%s:%d: a console block begins with a command", b.file, b.line)
				case !ok:
					last := &all[len(all)-1]
					last.output = append(last.output, line)
					continue
				}
				text = strings.TrimSpace(comment.ReplaceAllString(text, ""))
				all = append(all, command{where: fmt.Sprintf("%s:%d", b.file, b.line+i), text: text})
			}
		}
	}
	return all
}

// TestCommands: every command that a document shows is run here, or in the place
// that the table above names. A run on real processes is planned here at least.
// What a console block shows of the output is part of it, line by line.
func TestCommands(t *testing.T) {
	used := map[string]bool{}
	urls := systems(t)[""]
	t.Chdir(t.TempDir())
	for _, f := range files(t) {
		if err := os.WriteFile(f.name, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range commands(t) {
		words := split(c.text)
		proofs, listed := elsewhere[c.text]
		used[c.text] = true
		for _, p := range proofs {
			if !strings.Contains(read(t, filepath.Join(root, p.file)), p.text) {
				t.Errorf("%s: %s is said to be run by %s, which has no %q", c.where, c.text, p.file, p.text)
			}
		}
		args, ours := loadgenArgs(words)
		switch {
		case ours && (!listed || live(args)):
			if live(args) {
				args = append(args, "--plan")
			}
			runs(t, c, args, urls)
		case len(c.output) > 0:
			t.Errorf("%s: %q is run elsewhere, where nobody compares its output with the one shown", c.where, c.text)
		case !listed:
			t.Errorf("%s: nobody runs %q: add it to the table of this test", c.where, c.text)
		}
	}
	for text := range elsewhere {
		if !used[text] {
			t.Errorf("no document shows %q any more", text)
		}
	}
}

// loadgenArgs returns the arguments when the command is a loadgen of this machine.
func loadgenArgs(words []string) ([]string, bool) {
	for _, name := range [][]string{{"go", "run", "./cmd/loadgen"}, {"loadgen"}} {
		if len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return words[len(name):], true
		}
	}
	return nil, false
}

// live reports whether loadgen would send real load for longer than a test may take.
func live(args []string) bool {
	return len(args) > 0 && args[0] == "run" && !slices.Contains(args, "sim") && !slices.Contains(args, "--plan")
}

// runs runs loadgen, against a system of the test where it speaks to one.
func runs(t *testing.T, c command, args []string, urls map[string]string) {
	t.Helper()
	environ := []string{"SHEDLOAD_API_ADMIN_URL=" + urls["admin"], "SHEDLOAD_BACKEND_ADMIN_URL=" + urls["backend"], "SHEDLOAD_CONTROL_URL=" + urls["control"]}
	var stdout, stderr bytes.Buffer
	if code := app.RunLoadgen(context.Background(), args, environ, &stdout, &stderr); code != 0 {
		t.Errorf("%s: %s: exit code %d: %s", c.where, c.text, code, stderr.String())
	}
	if stdout.Len() == 0 {
		t.Errorf("%s: %s prints nothing", c.where, c.text)
	}
	rest := stdout.String()
	for _, line := range c.output {
		_, after, found := strings.Cut("\n"+rest, "\n"+line+"\n")
		if !found {
			t.Errorf("%s: %s prints no line %q after those before it:\n%s", c.where, c.text, line, stdout.String())
			break
		}
		rest = after
	}
}

// split splits a line like a shell does, as far as the documents need it.
func split(line string) []string {
	var words []string
	for _, found := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, found[1]+found[2]+found[3])
	}
	return words
}

// file is a YAML block of a document that begins with its name.
type file struct{ name, text string }

func files(t *testing.T) []file {
	t.Helper()
	var all []file
	for _, path := range documents(t) {
		for _, b := range blocks(t, path) {
			if name, ok := strings.CutPrefix(b.lines[0], "# "); ok && b.kind == "yaml" && strings.HasSuffix(name, ".yaml") {
				all = append(all, file{name, strings.Join(b.lines, "\n") + "\n"})
			}
		}
	}
	return all
}

// TestCommandsInSentences: a command in a code span exists, and so do its flags.
func TestCommandsInSentences(t *testing.T) {
	span := regexp.MustCompile("`(?:docker compose exec loadgen )?(loadgen [a-z][^`]*|scripts/[^`]*)`")
	seen := 0
	for _, path := range documents(t) {
		text := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(read(t, path), "")
		for _, found := range span.FindAllStringSubmatch(text, -1) {
			seen++
			if err := exists(split(found[1])); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(path), found[1], err)
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d commands in sentences: the test shows nothing", seen)
	}
}

// exists checks a script's file, or asks a command of loadgen for its flags.
func exists(words []string) error {
	if words[0] != "loadgen" {
		_, err := os.Stat(filepath.Join(root, words[0]))
		return err
	}
	var stdout, stderr bytes.Buffer
	if code := app.RunLoadgen(context.Background(), []string{words[1], "--help"}, nil, &stdout, &stderr); code != 0 {
		return fmt.Errorf("exit code %d: %s", code, stderr.String())
	}
	if !strings.Contains(stdout.String(), "\n  loadgen "+words[1]+" ") { // for what it does not know, it shows its own help
		return fmt.Errorf("there is no command %s", words[1])
	}
	for _, word := range words[2:] {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "--") && !strings.Contains(stdout.String(), name+" ") {
			return fmt.Errorf("it has no flag %s", name)
		}
	}
	return nil
}

// TestWrongCommandsAreSeen proves that the check above can fail.
func TestWrongCommandsAreSeen(t *testing.T) {
	for _, text := range []string{"loadgen spikes", "loadgen spike --follows", "scripts/nothing"} {
		if exists(split(text)) == nil {
			t.Errorf("%s: nothing is wrong with it", text)
		}
	}
	if err := exists(split("loadgen spike --rate=400 --follow")); err != nil {
		t.Error(err)
	}
}
