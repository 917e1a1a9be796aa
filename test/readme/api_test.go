package readme

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listeners are the sections of api.md, and which listener of a system is meant.
var listeners = map[string]string{
	"Public listener": "public", "Worker listener": "workers", "Admin listener of the apiserver": "admin",
	"Admin listener of the backend": "backend", "Control listener of loadgen": "control",
}

// endpoint is one call of api.md with the answers that it lists.
type endpoint struct {
	listener, method, path string
	answers                []int
}

func (e endpoint) String() string { return e.method + " " + e.path }

var (
	heading  = regexp.MustCompile(`^### ([A-Z]+) (/\S+)$`)
	answers  = regexp.MustCompile("^\\| ((?:`\\d{3}`(?:, )?)+) \\|")
	ofHealth = regexp.MustCompile("^\\| `([A-Z]+) (/\\S+)` \\| `(\\d{3})` \\|")
)

// endpoints reads api.md.
func endpoints(t *testing.T) []endpoint {
	t.Helper()
	var all []endpoint
	listener := ""
	for _, line := range strings.Split(read(t, filepath.Join(root, "docs", "api.md")), "\n") {
		if section, ok := strings.CutPrefix(line, "## "); ok {
			listener = listeners[section]
		}
		if h := heading.FindStringSubmatch(line); h != nil {
			all = append(all, endpoint{listener: listener, method: h[1], path: h[2]})
		}
		if a := answers.FindStringSubmatch(line); a != nil {
			last := &all[len(all)-1]
			for _, code := range regexp.MustCompile(`\d+`).FindAllString(a[1], -1) {
				last.answers = append(last.answers, atoi(t, code))
			}
		}
		if h := ofHealth.FindStringSubmatch(line); h != nil {
			all = append(all, endpoint{"health", h[1], h[2], []int{atoi(t, h[3])}})
		}
	}
	if len(all) < 15 {
		t.Fatalf("%d endpoints: api.md was not understood", len(all))
	}
	return all
}

func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAPI runs the examples of api.md, brings about every other answer that it
// lists, and checks that it lists every call that the programs have.
func TestAPI(t *testing.T) {
	listed := endpoints(t)
	s := systems(t)
	seen := map[string]bool{}
	note := func(e endpoint, status int) { seen[fmt.Sprint(e, " ", status)] = true }

	eventually(t, s[""]["control"]+"/v1/run", func(r reply) bool { return !strings.Contains(r.body, `"uptime_s":0,`) })
	runExamples(t, s, listed, note)
	for _, c := range cases {
		e, status := find(t, listed, c.call)
		t.Run(c.call, func(t *testing.T) {
			if got := c.bring(t, s); got != status {
				t.Errorf("status %d, want %d", got, status)
			}
		})
		note(e, status)
	}
	for _, e := range listed {
		for _, status := range e.answers {
			if status != http.StatusUnauthorized && status != http.StatusForbidden && !seen[fmt.Sprint(e, " ", status)] {
				t.Errorf("api.md lists %d of %v: no test brings it about", status, e)
			}
		}
	}
}

// find looks up a call like "GET /v1/policy 200" in api.md.
func find(t *testing.T, listed []endpoint, call string) (endpoint, int) {
	t.Helper()
	at := strings.LastIndex(call, " ")
	status := atoi(t, call[at+1:])
	for _, e := range listed {
		if e.String() == call[:at] && slices.Contains(e.answers, status) {
			return e, status
		}
	}
	t.Fatalf("api.md does not list %s", call)
	return endpoint{}, 0
}

// runExamples sends the requests of the document in its order. What is in braces is
// the last one that was seen.
func runExamples(t *testing.T, s map[string]map[string]string, listed []endpoint, note func(endpoint, int)) {
	t.Helper()
	last := map[string]string{}
	for _, b := range blocks(t, filepath.Join(root, "docs", "api.md")) {
		e, err := parseExample(b)
		if err != nil {
			t.Error(err)
			continue
		}
		path, _, _ := strings.Cut(e.path, "?")
		i := slices.IndexFunc(listed, func(l endpoint) bool { return l.method == e.method && l.path == path })
		if i < 0 || !slices.Contains(listed[i].answers, e.status) {
			t.Errorf("%s: %s %s %d is not among the answers that are listed", e.where, e.method, path, e.status)
			continue
		}
		call := listed[i]
		if e.method+path == "POST/v1/leases" && strings.Contains(e.body, `"want":1`) { // somebody must want something
			send(t, http.MethodPost, s[e.on]["public"]+"/v1/operations", "", http.Header{
				"X-Request-Id": {"4712"}, "X-Class": {"pay"}, "X-Request-Timeout-Ms": {"950"},
			})
		}
		for name, value := range last {
			e.path = strings.ReplaceAll(e.path, "{"+name+"}", value)
			e.body = strings.ReplaceAll(e.body, "{"+name+"}", value)
		}
		got := send(t, e.method, s[e.on][call.listener]+e.path, e.body, e.header)
		if err := e.differs(got); err != nil {
			t.Errorf("%s: %s %s: %v", e.where, e.method, e.path, err)
		}
		note(call, got.status)
		maps.Copy(last, names(got.body))
	}
}

// names returns the id and the lease of an answer.
func names(body string) map[string]string {
	var a struct {
		ID     string
		Leases []struct{ Lease string }
	}
	found := map[string]string{}
	if json.Unmarshal([]byte(body), &a) != nil {
		return found
	}
	if a.ID != "" {
		found["id"] = a.ID
	}
	if len(a.Leases) > 0 {
		found["lease"] = a.Leases[0].Lease
	}
	return found
}

// TestEveryCallIsListed: the programs have no call that api.md does not list.
func TestEveryCallIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, e := range endpoints(t) {
		listed[e.String()] = true
	}
	route := regexp.MustCompile(`Handle(?:Func)?\("([A-Z]+ /[^"]*)"`)
	found := 0
	for _, dir := range []string{"api", "worker", "control", "app"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, r := range route.FindAllStringSubmatch(read(t, file), -1) {
				found++
				if !listed[r[1]] {
					t.Errorf("%s serves %s, which api.md does not list", file, r[1])
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d routes in the code: the test shows nothing", found)
	}
}
