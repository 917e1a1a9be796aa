package compose

import (
	"bufio"
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"shedload/internal/boot"
)

// fixed are the variables that the compose file decides, not .env.
var fixed = []string{
	"LISTEN_ADDR", "WORKER_ADDR", "ADMIN_ADDR", "ADMIN_OPEN", "CONTROL_ADDR", "API_URL", "TARGET_URL", "API_ADMIN_URL",
	"BACKEND_ADMIN_URL", "RUN", "LANES",
	// of no use in a container: secrets have no place in a file, loadgen finds itself, nobody is a child
	"ADMIN_TOKEN", "CONTROL_URL", "ANNOUNCE", "CHILD", "MAX_BODY_BYTES", "MAX_CONNS",
}

// TestKnobs holds .env and the compose file against the programs' variables: each is there with a
// comment, is handed on, and has a value that its program takes.
func TestKnobs(t *testing.T) {
	env, commented := dotEnv(t)
	compose := string(read(t, root+"/deploy/docker-compose.yml"))
	decided := map[string]bool{}
	for _, name := range fixed {
		decided[boot.Prefix+name] = true
	}
	known := map[string]bool{}
	for _, p := range boot.Programs() {
		for _, v := range p.Vars {
			known[v.Name] = true
			if decided[v.Name] {
				continue
			}
			if _, ok := env[v.Name]; !ok {
				t.Errorf("%s is not in .env", v.Name)
			}
			if !strings.Contains(compose, "\n  "+v.Name+":\n") && !strings.Contains(compose, "\n      "+v.Name+":\n") {
				t.Errorf("the compose file does not hand on %s", v.Name)
			}
		}
	}
	var environ []string
	for name, value := range env {
		if strings.HasPrefix(name, boot.Prefix) && !known[name] {
			t.Errorf(".env has %s, which no program knows", name)
		}
		if !commented[name] && !strings.HasPrefix(name, "COMPOSE_") && !strings.HasSuffix(name, "_IMAGE") {
			t.Errorf(".env does not say what %s is", name)
		}
		environ = append(environ, name+"="+value)
	}
	for name := range decided {
		if !known[name] {
			t.Errorf("the test's list names %s, which no program knows", name)
		}
	}
	if _, err := boot.Load[boot.APIServer]("apiserver", environ); err != nil {
		t.Error(err)
	}
	if _, err := boot.Load[boot.Backend]("backend", environ); err != nil {
		t.Error(err)
	}
	if _, err := boot.Load[boot.Loadgen]("loadgen", environ); err != nil {
		t.Error(err)
	}
}

// dotEnv reads .env, and which of its variables stand right under a comment, or under one that does.
func dotEnv(t *testing.T) (env map[string]string, commented map[string]bool) {
	env, commented = map[string]string{}, map[string]bool{}
	explained := false
	lines := bufio.NewScanner(bytes.NewReader(read(t, root+"/.env")))
	for lines.Scan() {
		line := lines.Text()
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "":
			explained = false
		case strings.HasPrefix(line, "#"):
			explained = !strings.HasPrefix(line, "# ----")
		case ok:
			env[name], commented[name] = value, explained
		default:
			t.Errorf(".env: cannot read %q", line)
		}
	}
	return env, commented
}

// TestDefaultsAgree compares what the compose file takes without .env with what .env says.
func TestDefaultsAgree(t *testing.T) {
	env, _ := dotEnv(t)
	found := regexp.MustCompile(`\$\{([A-Z_]+):-([^}]*)\}`).FindAllStringSubmatch(string(read(t, root+"/deploy/docker-compose.yml")), -1)
	if len(found) < 5 {
		t.Fatalf("got %d defaults", len(found))
	}
	for _, d := range found {
		if env[d[1]] != d[2] {
			t.Errorf("%s is %q in .env and %q in the compose file", d[1], env[d[1]], d[2])
		}
	}
}

// TestEveryAlertIsPlayed wants each alert to fire in one of the rule tests, and to be silent in another.
func TestEveryAlertIsPlayed(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, file := range glob(t, root+"/deploy/prometheus/tests/*.yml") {
		var f struct {
			Tests []struct {
				AlertRuleTest []struct {
					Alertname string `yaml:"alertname"`
					ExpAlerts []any  `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		if err := yaml.Unmarshal(read(t, file), &f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, test := range f.Tests {
			for _, a := range test.AlertRuleTest {
				if len(a.ExpAlerts) > 0 {
					fires[a.Alertname] = true
				} else {
					silent[a.Alertname] = true
				}
			}
		}
	}
	for _, q := range ruleQueries(t) {
		name := q.where[strings.LastIndex(q.where, " ")+1:]
		if q.alert && (!fires[name] || !silent[name]) {
			t.Errorf("%s: fires in a test: %t, is silent in one: %t", name, fires[name], silent[name])
		}
	}
}
