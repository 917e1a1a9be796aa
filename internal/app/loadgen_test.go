package app

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// loadgen runs a command line in an empty folder of its own.
func loadgen(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = RunLoadgen(context.Background(), args, environ, &out, &err)
	return code, out.String(), err.String()
}

// calm is a service that is never overloaded; its expectations hold.
const calm = `name: calm
about: A service at half its capacity.
horizon: 20s
backend: {workers: 4, service_time: 20ms}
clients: [{name: users, arrivals: even, rate: 50, patience: 500ms, retry: {attempts: 3, on: [timeout]}}]
phases: [{name: bump, at: 5s, for: 1s, rate: 100}]
variants:
  one: {about: As it is.}
  two: {server: {discipline: lifo}, live: "skip, because it says so"}
expect:
  "*": ["goodput_share == 1"]
  all: ["v.one.throughput == v.two.throughput"]
tables:
  - {file: calm.csv, rows: variants, columns: [{name: variant, value: variant}, {name: served, value: throughput}]}
`

// workdir makes an empty folder with calm.yaml in it the current one.
func workdir(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "calm.yaml", calm)
	write(t, "hopeful.yaml", strings.Replace(calm, "goodput_share == 1", "goodput_share > 1", 1))
	write(t, "broken.yaml", strings.Replace(calm, "patience: 500ms", "patience: 500", 1))
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWrongCommandLines answers what is wrong with the exit code, with what was
// wrong, and with what is allowed. Nothing is left behind.
func TestWrongCommandLines(t *testing.T) {
	workdir(t)
	for _, c := range []struct {
		line string
		code int
		want []string
	}{
		{"demoo", 2, []string{`unknown command "demoo"`, `did you mean "demo"?`, "validate", "loadgen --help"}},
		{"run", 2, []string{"run what?", "loadgen run --help"}},
		{"run shed-your-lod", 2, []string{`unknown scenario "shed-your-lod"`, `did you mean "shed-your-load"?`, "retry-storms"}},
		{"run shed-your-load/fifi", 2, []string{`unknown variant "fifi"`, `did you mean "fifo"?`}},
		{"run nowhere.yaml", 2, []string{"nowhere.yaml", "no such file"}},
		{"run ./nowhere", 2, []string{"nowhere", "no such file"}},
		{"run broken.yaml", 2, []string{"broken.yaml:5:", "clients[0].patience"}},
		{"run calm.yaml --sed 3", 2, []string{`unknown flag "sed"`, `did you mean "seed"?`}},
		{"run calm.yaml --seed minus", 2, []string{"invalid argument", "--seed"}},
		{"run calm.yaml --seeds 0 --engine sim", 2, []string{"--seeds 0", "allowed are 1 to"}},
		{"run calm.yaml --seeds 2", 2, []string{"--seeds", "--engine sim"}},
		{"run calm.yaml --engine simm", 2, []string{`unknown engine "simm"`, `did you mean "sim"?`, "live, sim"}},
		{"run calm.yaml --format jsn", 2, []string{`unknown format "jsn"`, "table, json"}},
		{"run calm.yaml --set server.disciplin=lifo", 2, []string{"server", `unknown path "disciplin"`, `did you mean "discipline"?`}},
		{"run calm.yaml --set server.discipline=lilo", 2, []string{"--set server.discipline=lilo", `unknown order "lilo"`, "fifo, lifo"}},
		{"run calm.yaml --set horizon", 2, []string{"--set horizon", "path=value"}},
		{"run calm.yaml --set clients.user.rate=7", 2, []string{`unknown path "user"`, `did you mean "users"?`}},
		{"run calm.yaml --engine sim --target http://127.0.0.1:1", 2, []string{"virtual time has no target"}},
		{"run calm.yaml --admin http://127.0.0.1:1", 2, []string{"--admin belongs to a --target"}},
		{"run calm.yaml --target 127.0.0.1:1", 2, []string{"--target", "allowed is a URL like"}},
		{"run calm.yaml --target http://203.0.113.5", 2, []string{"203.0.113.5", "--yes-remote"}},
		{"run calm.yaml --target http://[2001:db8::1]:80", 2, []string{"2001:db8::1", "--yes-remote"}},
		{"run calm.yaml --target http://127.0.0.1:1 --admin http://203.0.113.5", 2, []string{"--admin http://203.0.113.5", "--yes-remote"}},
		{"run calm.yaml --target http://127.0.0.1:1", 3, []string{"calm/one", "http://127.0.0.1:1 cannot be reached", "connection refused"}},
		{"run calm.yaml --target http://127.0.0.1:1 --admin http://127.0.0.1:1", 3, []string{"apiserver at http://127.0.0.1:1", "cannot be reached"}},
		{"run calm.yaml/two --engine sim --out .", 2, []string{"the folder is not empty"}},
		{"sweep", 2, []string{"sweep what?"}},
		{"sweep calm.yaml", 2, []string{`required flag(s) "vary" not set`}},
		{"sweep calm.yaml --vary server.drop_margin", 2, []string{"path=a,b,c"}},
		{"sweep calm.yaml --vary server.disciplin=fifo,lifo", 2, []string{`did you mean "discipline"?`}},
		{"sweep calm.yaml --vary backend.workers=1,none", 2, []string{"backend.workers", "none"}},
		{"demo extra", 2, []string{"unknown command", "loadgen demo --help"}},
		{"demo --format xml", 2, []string{`unknown format "xml"`}},
		{"report", 2, []string{"accepts 1 arg(s)"}},
		{"report nowhere", 2, []string{"nowhere is not the record of a run"}},
		{"compare nowhere", 2, []string{"compare what?"}},
		{"compare nowhere elsewhere", 2, []string{"nowhere is not the record of a run"}},
		{"scenarios shw", 2, []string{`unknown word "shw"`, `did you mean "show"?`}},
		{"scenarios show shed", 2, []string{`unknown scenario "shed"`, "shed-your-load"}},
		{"validate", 2, []string{"requires at least 1 arg"}},
		{"validate calm.yaml broken.yaml nowhere.yaml", 2, []string{"broken.yaml:5:", "nowhere.yaml"}},
		{"policy", 2, []string{"policy what?", "get, set"}},
		{"policy gte", 2, []string{`unknown word "gte"`, "get, set"}},
		{"policy set", 2, []string{"requires at least 1 arg"}},
		{"policy set discipine=lifo", 2, []string{`did you mean "discipline"?`, "drop_margin"}},
		{"policy set discipline=lilo", 2, []string{`unknown order "lilo"`, "fifo, lifo"}},
		{"policy set silent_drops=yes", 2, []string{"silent_drops=yes", "true, false"}},
		{"policy set drop_margin", 2, []string{"drop_margin=VALUE"}},
		{"policy get --admin http://127.0.0.1:1", 3, []string{"http://127.0.0.1:1", "cannot be reached"}},
		{"spike --rate 3 --factor 2", 2, []string{"rate", "factor"}},
		{"spike --rate -3", 2, []string{"must be more than 0"}},
		{"spike --for 0s", 2, []string{"must be more than 0"}},
		{"spike --control http://127.0.0.1:1", 3, []string{"loadgen at http://127.0.0.1:1", "cannot be reached"}},
		{"watch --control http://127.0.0.1:1", 3, []string{"loadgen at http://127.0.0.1:1", "cannot be reached"}},
	} {
		code, stdout, stderr := loadgen(t, nil, strings.Fields(c.line)...)
		if code != c.code || stdout != "" && !strings.HasPrefix(c.line, "validate") {
			t.Errorf("loadgen %s: code %d, want %d; stdout %q", c.line, code, c.code, stdout)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("loadgen %s: got %q, want %q in it", c.line, stderr, want)
			}
		}
	}
	if _, err := os.Stat("runs"); !os.IsNotExist(err) {
		left, _ := filepath.Glob("runs/*")
		if len(left) > 0 {
			t.Errorf("records of runs that never began: %q", left)
		}
	}
}

// TestWrongEnvironment names every wrong variable at once.
func TestWrongEnvironment(t *testing.T) {
	workdir(t)
	environ := []string{"SHEDLOAD_CONTROL_ADDR=here", "SHEDLOAD_TARGET_ULR=http://127.0.0.1:1", "SHEDLOAD_LOG_LEVEL=loud"}
	for _, line := range []string{"run calm.yaml", "serve", "spike", "watch", "policy get", "healthcheck"} {
		code, _, stderr := loadgen(t, environ, strings.Fields(line)...)
		if code != 2 || !strings.Contains(stderr, "SHEDLOAD_CONTROL_ADDR") || !strings.Contains(stderr, "did you mean SHEDLOAD_TARGET_URL?") || !strings.Contains(stderr, "SHEDLOAD_LOG_LEVEL") {
			t.Errorf("%s: code %d, %s", line, code, stderr)
		}
	}
	code, _, stderr := loadgen(t, []string{"SHEDLOAD_SCENARIO=shed-your-lod"}, "serve")
	if code != 2 || !strings.Contains(stderr, "SHEDLOAD_SCENARIO") || !strings.Contains(stderr, `did you mean "shed-your-load"?`) {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := loadgen(t, []string{"SHEDLOAD_TARGET_URL=http://203.0.113.5"}, "run", "calm.yaml"); code != 2 || !strings.Contains(stderr, "--yes-remote") {
		t.Errorf("code %d, %s; a target of the environment is guarded as well", code, stderr)
	}
}

func TestGuard(t *testing.T) {
	ctx := context.Background()
	for _, near := range []string{"http://127.0.0.1:8080", "http://10.1.2.3", "http://172.16.0.9:1", "http://192.168.1.1/x?y", "http://[::1]:80", "http://[fd00::1]", "https://169.254.1.1", ""} {
		if err := guard(ctx, "--target", near, false); err != nil {
			t.Errorf("%s: %v", near, err)
		}
	}
	for _, far := range []string{"http://8.8.8.8", "http://172.32.0.1", "https://[2001:db8::1]", "http://[::ffff:8.8.8.8]"} {
		if err := guard(ctx, "--target", far, false); err == nil {
			t.Errorf("%s: let through", far)
		}
		if err := guard(ctx, "--target", far, true); err != nil {
			t.Errorf("%s: %v, although it is meant", far, err)
		}
	}
}

func TestScenarios(t *testing.T) {
	workdir(t)
	code, stdout, _ := loadgen(t, nil, "scenarios")
	if code != 0 || !strings.Contains(stdout, "shed-your-load\n") || !strings.Contains(stdout, "(margin-25)") || strings.Contains(stdout, " \n") {
		t.Errorf("code %d\n%s", code, stdout)
	}
	_, stdout, _ = loadgen(t, nil, "scenarios", "show", "shed-your-load-short")
	write(t, "mine.yaml", stdout)
	if code, stdout, stderr := loadgen(t, nil, "validate", "mine.yaml", "shed-your-load"); code != 0 || !strings.Contains(stdout, "mine.yaml: fine, 4 variants") {
		t.Errorf("code %d\n%s%s; what is shown can be run", code, stdout, stderr)
	}
}

func TestSchemaVersionAndHelp(t *testing.T) {
	code, stdout, _ := loadgen(t, nil, "schema")
	if code != 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("code %d, schema of %d bytes", code, len(stdout))
	}
	if code, stdout, _ = loadgen(t, nil, "version"); code != 0 || !strings.HasPrefix(stdout, "loadgen ") {
		t.Errorf("code %d, %s", code, stdout)
	}
	if code, stdout, _ = loadgen(t, nil); code != 0 || !strings.Contains(stdout, "Exit codes: 0 fine") || strings.Contains(stdout, "Be the apiserver") {
		t.Errorf("code %d\n%s", code, stdout)
	}
	if _, stdout, _ = loadgen(t, nil, "serve", "--help"); !strings.Contains(stdout, "SHEDLOAD_CONTROL_ADDR") {
		t.Errorf("got %s, want the variables", stdout)
	}
	if code, stdout, _ = loadgen(t, nil, "apiserver", "version"); code != 0 || !strings.HasPrefix(stdout, "apiserver ") {
		t.Errorf("code %d, %s; want another program", code, stdout)
	}
}

// TestEveryCommandExplainsItself wants a summary, an explanation and an example of
// each command that people can see.
func TestEveryCommandExplainsItself(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.Hidden && (cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, "loadgen")) {
			t.Errorf("%s lacks Short, Long or an example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&cli{stdout: os.Stdout, stderr: os.Stderr}).root())
}

func TestCompletion(t *testing.T) {
	workdir(t)
	for line, want := range map[string][]string{
		"run shed-your-load-":                      {"shed-your-load-as-published", "shed-your-load-short"},
		"run shed-your-load-short/":                {"shed-your-load-short/fifo", "shed-your-load-short/lifo", "shed-your-load-short/naive-deadline", "shed-your-load-short/deadline"},
		"run shed-your-load --engine s":            {"sim"},
		"run shed-your-load --set server.drop":     {"server.drop_margin="},
		"run shed-your-load --set clients.users.r": {"clients.users.rate=", "clients.users.request_deadline=", "clients.users.retry.attempts="},
		"run shed-your-load --set backend.work=":   {"backend.work=sleep", "backend.work=cpu"},
		"run calm.yaml --set phases.":              {"phases.bump.at=", "phases.bump.for="},
		"sweep shed-your-load --vary server.codel": {"server.codel_interval=", "server.codel_target="},
		"policy set drop":                          {"drop_margin="},
		"scenarios show retry":                     {"retry-storms"},
		"dem":                                      {"demo"},
	} {
		words := strings.Fields(line)
		code, stdout, _ := loadgen(t, nil, append([]string{"__complete"}, words...)...)
		var got []string
		for l := range strings.Lines(stdout) {
			word, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			got = append(got, word)
		}
		for _, w := range want {
			if code != 0 || !slices.Contains(got, w) {
				t.Errorf("%s: got %q, want %q among them", line, got, w)
			}
		}
		for _, g := range got {
			if last := words[len(words)-1]; !strings.HasPrefix(g, last) && !strings.HasPrefix(g, ":") {
				t.Errorf("%s: got %q, which does not begin so", line, g)
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, _ := loadgen(t, nil, "completion", shell); code != 0 || !strings.Contains(stdout, "loadgen") {
			t.Errorf("%s: code %d", shell, code)
		}
	}
}

func TestSplitChoice(t *testing.T) {
	for arg, want := range map[string][2]string{
		"a": {"a", ""}, "a/b": {"a", "b"}, "a/b-*": {"a", "b-*"}, "x.yaml": {"x.yaml", ""}, "d/x.yaml": {"d/x.yaml", ""},
		"d/x.yaml/v": {"d/x.yaml", "v"}, "/d/x.yml/v": {"/d/x.yml", "v"}, "./x": {"./x", ""}, "../d/x": {"../d/x", ""},
	} {
		if name, variant := splitChoice(arg); name != want[0] || variant != want[1] {
			t.Errorf("%s: got %q and %q, want %q", arg, name, variant, want)
		}
	}
}
