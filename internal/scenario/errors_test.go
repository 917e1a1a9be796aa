package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// wrongFiles are changes to the small scenario, with how the complaint begins.
var wrongFiles = []struct{ name, old, new, want string }{
	{"bare number for a time", "horizon: 90s", "horizon: 90", "f.yaml:3:10: horizon: 90 has no unit: allowed is a number with its unit"},
	{"wrong unit", "horizon: 90s", "horizon: 90 seconds", `f.yaml:3:10: horizon: "90 seconds" is not a duration: allowed is a number with its unit`},
	{"unknown key", "horizon:", "horizn:", `f.yaml:3:1: horizn: unknown key "horizn": did you mean "horizon"? allowed are name, about,`},
	{"unknown key in a flow map", "every: 5", "evry: 5", `f.yaml:12:45: classes[0].evry: unknown key "evry": did you mean "every"?`},
	{"unknown key in a list", "rate: 5\n", "rat: 5\n", `f.yaml:10:5: clients[1].rat: unknown key "rat": did you mean "rate"?`},
	{"duplicate key", "horizon: 90s", "horizon: 90s\nhorizon: 80s", `f.yaml:4:1: mapping key "horizon" already defined at [3:1]`},
	{"no YAML", "clients:\n", "clients: [\n", "f.yaml:"},
	{"anchor", "horizon: 90s", "horizon: &h 90s", "f.yaml:3:10: anchors, aliases, tags and merge keys are not used"},
	{"tag", "horizon: 90s", "horizon: !!str 90s", "f.yaml:3:10: anchors, aliases, tags and merge keys are not used"},
	{"empty value", "horizon: 90s", "horizon:", "f.yaml:3:9: horizon: has no value: leave the key out, or write a duration"},
	{"text for a map", "server: {discipline: fifo}", "server: fifo", `f.yaml:4:9: server: is "fifo": allowed is a map of discipline, drop_margin,`},
	{"text for a list", "on: [timeout]", "on: timeout", `f.yaml:7:84: clients[0].retry.on: is "timeout": allowed is a list`},
	{"text for a number", "workers: 4", "workers: four", `f.yaml:5:20: backend.workers: is "four": allowed is a whole number`},
	{"fraction for a whole number", "workers: 4", "workers: 4.5", "f.yaml:5:20: backend.workers: is 4.5: allowed is a whole number"},
	{"no number", "rate: 60", "rate: .nan", "f.yaml:7:41: clients[0].rate: is .nan: allowed is a finite number"},
	{"negative rate", "rate: 60", "rate: -60", "f.yaml:7:41: clients[0]: rate -60 is not in 0 to"},
	{"no rate", "rate: 60, ", "", "f.yaml:7:5: clients[0].rate: is 0: allowed is more than 0"},
	{"no workers", "workers: 4", "workers: 0", "f.yaml:5:20: backend.workers: is 0: allowed is 1 to"},
	{"unknown discipline", "discipline: fifo", "discipline: fofo", `f.yaml:4:22: server.discipline: discipline "fofo": unknown order "fofo": allowed are fifo, lifo,`},
	{"margin without its shed", "discipline: fifo", "discipline: lifo, drop_margin: 70ms", "f.yaml:4:41: server.drop_margin: has no effect: the discipline lifo has no deadline shed"},
	{"margin of a variant", "drop_margin: 70ms", "drop_margin: 70", `f.yaml:20:58: server.drop_margin: margin "70": allowed are a duration`},
	{"unknown key of a variant", "busy: {", "busy: {servr: {}, ", `f.yaml:21:10: servr: unknown key "servr": did you mean "server"?`},
	{"name in a variant", "busy: {", "busy: {name: x, ", "f.yaml:21:10: variants.busy.name: does not belong in a variant"},
	{"unknown client of a variant", "clients: {robots", "clients: {robot", `f.yaml:21:20: clients.robot: unknown name "robot": did you mean "robots"? allowed are users, robots`},
	{"name of a variant", "  busy:", "  Busy:", `f.yaml:21:3: variants: "Busy" is not a name`},
	{"variant called all", "  busy:", "  all:", `f.yaml:21:3: variants: "all" is not a name`},
	{"phase after the end", "at: 20s", "at: 90s", "f.yaml:15:23: phases[0].at: is 1m30s: the run is over at 1m30s"},
	{"phase of nobody", "rate: 400", "rate: 400, client: usrs", `f.yaml:15:57: phases[0].client: unknown client "usrs": did you mean "users"? allowed are users, robots`},
	{"phase that does nothing", ", rate: 400", "", "f.yaml:15:5: phases[0]: phase \"spike\": 0 of rate, factor and stop are given"},
	{"door of an unknown class", "discipline: fifo", "door: {kind: priority, limit: 5, per_class: {otter: 3}}", `f.yaml:4:16: server.door: door priority: unknown class or criticality "otter": allowed are critical, other,`},
	{"door without its limit", "discipline: fifo", "door: {kind: queue_limit}", "f.yaml:4:16: server.door: door queue_limit: needs a limit"},
	{"fault of nothing", "windows:", "faults: [{at: 1s, for: 1s}]\nwindows:", "f.yaml:16:10: faults[0]: fault: 0 effects are set"},
	{"two claims of a class", "every: 5", "every: 5, share: 0.1", "f.yaml:12:5: classes[0]: has several of share, every and client"},
	{"class behind the rest", "- {name: other}", "- {name: other}\n  - {name: late}", "f.yaml:13:5: classes[1]: takes all requests: only the last class may"},
	{"unknown retry cause", "on: [timeout]", "on: [timeuot]", `f.yaml:7:85: clients[0].retry.on[0]: unknown cause "timeuot": allowed are timeout, refusal, error`},
	{"impossible backoff", "on: [timeout]", "backoff: {kind: fixed}", "f.yaml:7:89: clients[0].retry: backoff.base: 0s is outside 1ns to"},
	{"trace without a file", "arrivals: poisson", "arrivals: trace", "f.yaml:8:5: clients[1]: has arrivals: trace and needs trace"},
	{"missing trace", "arrivals: poisson\n    rate: 5", "arrivals: trace\n    trace: x.trace", `f.yaml:10:12: clients[1].trace: no file "x.trace"`},
	{"users and a rate", "rate: 5\n", "rate: 5\n    users: 3\n", "f.yaml:11:12: clients[1].users: makes a closed loop"},
	{"live without a reason", "horizon: 90s", "horizon: 90s\nlive: skip", `f.yaml:4:7: live: "skip": allowed are run, or skip, because REASON`},
	{"end that cannot be", "horizon: 90s", "horizon: 90s\nend: {queued: finish}", "f.yaml:4:15: end.queued: is finish: allowed are leave, shed"},
	{"window that ends first", "to: 20s", "to: 0s", "f.yaml:17:5: windows[0]: goes from 0s to 0s"},
	{"too many windows", "to: 20s", "to: 20s, every: 1ms", "f.yaml:17:3: windows: are more than 256"},
	{"expectation with an unknown name", "goodput_share <", "goodput_shar <", `f.yaml:23:11: unknown name "goodput_shar": did you mean "goodput_share"? allowed are amplification,`},
	{"expectation with an unknown member", "v.fifo.peak.queue", "v.fifo.peak.que", `f.yaml:24:22: unknown name "que": allowed are offered_per_s, queue`},
	{"expectation about an unknown variant", "v.fifo.peak", "v.fofo.peak", `f.yaml:24:12: unknown name "fofo": did you mean "fifo"? allowed are busy, deadline, fifo`},
	{"expectation of an unknown variant", "  fifo: [\"", "  fofo: [\"", `f.yaml:23:3: unknown variant "fofo": did you mean "fifo"? allowed are fifo, deadline, busy`},
	{"expectation that is no question", "goodput_share < 0.25", "goodput_share", "f.yaml:23:11: expected bool, but got float64"},
	{"expectation of an unknown class", "goodput_share < 0.25", "classes.crit.attempts.late == 0", `f.yaml:23:19: unknown name "crit"`},
	{"default of nothing", "variants:", "default: [fofo]\nvariants:", `f.yaml:18:10: default: unknown variant "fofo": did you mean "fifo"?`},
}

// Each wrong file names the place, what was wrong there and what is allowed.
func TestWrongFiles(t *testing.T) {
	for _, c := range wrongFiles {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(change(t, c.old, c.new))
			if err == nil {
				t.Fatal("was accepted")
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got\n%s\nwant\n%s", err, c.want)
			}
		})
	}
}

// What is wrong in the base document is said once, not once a variant, and all
// problems come together, in the order of the file.
func TestAllProblemsAtOnce(t *testing.T) {
	text := strings.NewReplacer("90s", "90", "every: 5", "every: five", "drop_margin: 70ms", "drop_margin: soon").Replace(small) + "expct: {}\n"
	_, err := load(text)
	var list Problems
	if !errors.As(err, &list) {
		t.Fatalf("got %v", err)
	}
	var lines []int
	for _, p := range list {
		lines = append(lines, p.Line)
	}
	if last := strings.Count(text, "\n"); !slices.Equal(lines, []int{3, 12, 20, last}) {
		t.Errorf("problems at lines %v:\n%s", lines, err)
	}
}

// A file that would cost much to read is refused before it is parsed.
func TestHostileFiles(t *testing.T) {
	for name, text := range map[string]string{
		"size":     "name: " + strings.Repeat("x", maxBytes),
		"brackets": "name: " + strings.Repeat("[", 100_000),
		"braces":   "name: " + strings.Repeat("{a: ", 50_000),
		"dashes":   "name:\n  " + strings.Repeat("- ", 50_000),
		"indent":   strings.Repeat(" ", 100_000) + "x: 1",
		"keys":     manyKeys("k%d: 1\n", 2000),
		"colons":   manyKeys("k%d: 1\n", 20_000),
		"variants": strings.Split(small, "  fifo: {}")[0] + manyKeys("  k%d:\n", 2000),
		"expect":   small + "expect_sim:\n  fifo:\n" + strings.Repeat("    - partial\n", 600),
		"empty":    "",
		"comment":  "# nothing\n",
		"scalar":   "just text",
		"list":     "- 1",
		"two":      "name: a\n---\nname: b",
		"binary":   "\x00\x01\xff",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(text)
			var list Problems
			if !errors.As(err, &list) {
				t.Fatalf("got %v", err)
			}
			if len(err.Error()) > 10_000 {
				t.Errorf("the complaint is %d bytes long", len(err.Error()))
			}
		})
	}
}

func manyKeys(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestNearestName(t *testing.T) {
	known := []string{"fifo", "lifo", "deadline", "naive-deadline"}
	for name, want := range map[string]string{
		"fifi": "fifo", "FIFO": "fifo", "deadlin": "deadline", "dedaline": "deadline", "naive": "", "xyz": "", "": "",
		strings.Repeat("fifo", 100): "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
