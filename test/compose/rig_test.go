package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shedload/test/need"
)

// stack is the compose project under test, by names and ports of its own.
type stack struct {
	*testing.T
	words      []string // the command: docker compose, or docker-compose
	prometheus string   // base URL
	start      time.Time
}

const project = "shedload-test"

func newStack(t *testing.T) *stack {
	t.Helper()
	need.Docker(t)
	s := &stack{T: t}
	if exec.Command("docker", "compose", "version").Run() == nil {
		s.words = []string{"docker", "compose"}
	} else {
		s.words = []string{need.Program(t, "docker-compose")}
	}
	return s
}

// command is one of compose, in the repository's root as people type it.
func (s *stack) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	s.Cleanup(cancel)
	words := append(append([]string{}, s.words...), args...)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir = root
	c.Env = append(os.Environ(),
		"COMPOSE_FILE=deploy/docker-compose.yml:test/compose/testdata/small.yml", "COMPOSE_PROJECT_NAME="+project,
		"API_PORT=0", "PROMETHEUS_PORT=0", "GRAFANA_PORT=0") // free ones
	return c
}

// do runs a compose command that must succeed, and returns what it printed.
func (s *stack) do(args ...string) string {
	s.Helper()
	c := s.command(args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		s.Fatalf("compose %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// loadgen runs a word of the load generator in its container.
func (s *stack) loadgen(args ...string) {
	s.Helper()
	s.do(append([]string{"exec", "-T", "loadgen", "loadgen"}, args...)...)
}

// up builds and starts services and Prometheus, and takes all down at the end of the test.
func (s *stack) up(services ...string) {
	s.Helper()
	s.Cleanup(func() { _ = s.command("--profile", "compare", "down", "--volumes", "--timeout", "5").Run() })
	if !slices.Contains(services, "apiserver") {
		services = append(services, "apiserver") // Prometheus waits for it: an old image of it must not be taken
	}
	s.do(append([]string{"build", "--quiet"}, services...)...)
	s.do(append([]string{"up", "-d", "prometheus"}, services...)...)
	address := strings.TrimSpace(s.do("port", "prometheus", "9090"))
	s.prometheus = "http://" + address
	s.start = time.Now()
}

// sample is one series of an answer.
type sample struct {
	labels map[string]string
	values []float64
}

// api asks Prometheus' HTTP API. Nil while it does not answer.
func (s *stack) api(path string, args url.Values) ([]sample, error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.PostForm(s.prometheus+"/api/v1/"+path, args)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s", answer.Error)
	}
	var out []sample
	for _, r := range answer.Data.Result {
		one := sample{labels: r.Metric}
		for _, v := range append(r.Values, r.Value) {
			text, _ := v[1].(string) // an answer has either Value or Values
			if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) {
				one.values = append(one.values, x)
			}
		}
		if len(one.values) > 0 {
			out = append(out, one)
		}
	}
	return out, nil
}

// now is an expression's only value; false when it has none, or several.
func (s *stack) now(expr string) (float64, bool) {
	result, err := s.api("query", url.Values{"query": {expr}})
	if err != nil || len(result) != 1 {
		return 0, false
	}
	return result[0].values[0], true
}

// since is an expression over the time since from.
func (s *stack) since(from time.Time, expr string) ([]sample, error) {
	return s.api("query_range", url.Values{
		"query": {expr}, "step": {"1"},
		"start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(time.Now().Unix(), 10)},
	})
}

// await waits until an expression has one value for which holds is true.
func (s *stack) await(what, expr string, holds func(float64) bool) {
	s.Helper()
	const atMost = 90 * time.Second // generous: it bounds a failure, it measures nothing
	deadline := time.Now().Add(atMost)
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	var last any = "nothing"
	for time.Now().Before(deadline) {
		if v, ok := s.now(expr); ok {
			if holds(v) {
				return
			}
			last = v
		}
		<-ticker.C
	}
	s.Fatalf("waited %s for %s: %s is %v\n%s", atMost, what, expr, last, s.do("ps"))
}

func is(want float64) func(float64) bool      { return func(v float64) bool { return v == want } }
func atLeast(want float64) func(float64) bool { return func(v float64) bool { return v >= want } }
func below(limit float64) func(float64) bool  { return func(v float64) bool { return v < limit } }
