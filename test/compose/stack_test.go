package compose

import (
	"bufio"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"shedload/test/need"
)

// The states by their number, see run:shedload_state:code.
const (
	healthy   = 1
	collapsed = 3
)

const (
	state       = `run:shedload_state:code{run="live"}`
	goodput     = `run:shedload_goodput:rate5s{run="live"}`
	throughput  = `run:shedload_throughput:rate5s{run="live"}`
	workers     = `sum(shedload_workers{run="live"})`
	silentAlert = `count(ALERTS{alertname="ThroughputCollapsed", alertstate="firing"})`
)

// firing counts the alerts of a name that fire; 0 when none does.
func firing(alert string) string {
	return `count(ALERTS{alertname="` + alert + `", alertstate="firing"}) or vector(0)`
}

// TestStack plays what README's tour tells: a collapse, which throughput does not show; a backend
// that is killed; a cure while it runs; more capacity. The load is tens of requests a second.
func TestStack(t *testing.T) {
	need.Long(t, 6*time.Minute)
	s := newStack(t)
	s.up("apiserver", "backend", "loadgen")

	s.await("every target to be up", `min(up) + 0 * (count(up) == 4)`, is(1))
	s.await("baseline goodput", goodput, atLeast(7))
	s.await("a healthy state", state, is(healthy))

	s.loadgen("spike", "--rate", "24", "--for", "4s")
	s.await("a collapse", state, is(collapsed))
	s.await("the alert on goodput", firing("GoodputCollapsed"), is(1))
	s.await("the alert on what is left behind", firing("Metastable"), is(1))
	if v, ok := s.now(throughput); !ok || v < 15 {
		t.Errorf("throughput is %v in the collapse, want near 20", v)
	}
	if v, ok := s.now(goodput); !ok || v > 2 {
		t.Errorf("goodput is %v in the collapse, want near 0", v)
	}
	if found, err := s.since(s.start, silentAlert); err != nil || len(found) > 0 {
		t.Errorf("the alert on throughput fired: %v (%v)", found, err)
	}

	s.killed()
	s.cured()
	s.scaled()
	s.eachQueryHasData("live")
	s.logsAreClean()
	s.goesCleanly()
}

// killed takes the backend away in mid-collapse and brings it back.
func (s *stack) killed() {
	s.Helper()
	s.do("kill", "backend")
	s.await("the loss of all workers", workers, is(0))
	s.await("the alert on it", firing("NoWorkers"), is(1))
	s.do("up", "-d", "backend")
	s.await("the workers to be back", workers, is(1))
	s.await("work to go on", throughput, atLeast(15))
	// Nothing may be lost silently: what the killed one had is counted lost, or was reported before.
	s.await("the books to be balanced", `abs(sum(shedload_server_attempts_total) - sum(shedload_server_outcomes_total)
		- sum(shedload_queue_length) - sum(shedload_in_service) - sum(shedload_door_waiting))`, is(0))
}

// cured switches the discipline while it runs, and sends another spike.
func (s *stack) cured() {
	s.Helper()
	s.loadgen("policy", "set", "discipline=deadline", "drop_margin=70ms")
	s.await("the cure", state, is(healthy))
	s.await("goodput to be back", goodput, atLeast(7))
	s.await("the alerts to be over", firing("GoodputCollapsed"), is(0))
	from := time.Now()
	s.loadgen("spike", "--rate", "24", "--for", "4s")
	s.await("the spike", `max(shedload_phase{phase="spike"})`, is(1))
	s.await("its end", `max(shedload_phase{phase="spike"})`, is(0))
	s.await("a healthy state after it", state, is(healthy))
	s.await("only those requests that are new", `run:shedload_amplification:ratio5s{run="live"}`, below(1.2))
	if found, err := s.since(from, firing("GoodputCollapsed")+" > 0"); err != nil || len(found) > 0 {
		s.Errorf("goodput collapsed under a deadline discipline: %v (%v)", found, err)
	}
}

// scaled adds a backend, and everything follows.
func (s *stack) scaled() {
	s.Helper()
	s.do("up", "-d", "--scale", "backend=2", "backend")
	s.await("the second backend's worker", workers, is(2))
	s.await("its metrics", `count(up{job="backend"} == 1)`, is(2))
	s.await("its capacity", `run:shedload_capacity:per_second{run="live"}`, atLeast(30))
	s.do("pause", "loadgen")
	s.await("a paused generator to be noticed", firing("TargetDown"), is(1))
	s.do("unpause", "loadgen")
	s.await("the load to go on", goodput, atLeast(7))
}

// trouble is how a line says that something is wrong. The kill is a warning, not an error.
var trouble = regexp.MustCompile(`"level":"(error|fatal|panic)"|level=error|level=ERROR|^panic:|DATA RACE`)

func (s *stack) logsAreClean() {
	s.Helper()
	lines := bufio.NewScanner(strings.NewReader(s.do("logs", "--no-color", "--no-log-prefix")))
	count := 0
	for lines.Scan() {
		count++
		if trouble.MatchString(lines.Text()) {
			s.Errorf("log: %s", lines.Text())
		}
	}
	if count < 10 {
		s.Errorf("got only %d lines of log", count)
	}
}

// goesCleanly takes the stack down and looks for what is left of it.
func (s *stack) goesCleanly() {
	s.Helper()
	s.do("down", "--volumes", "--timeout", "15")
	for _, kind := range [][]string{{"ps", "-a"}, {"network", "ls"}, {"volume", "ls"}} {
		out, err := exec.Command("docker", append(kind, "-q", "--filter", "label=com.docker.compose.project="+project)...).CombinedOutput()
		if err != nil || len(out) > 0 {
			s.Errorf("docker %s after down: %s (%v)", strings.Join(kind, " "), out, err)
		}
	}
}

// TestWrongKnobs starts a container with three wrong variables, which says so of all of them.
func TestWrongKnobs(t *testing.T) {
	need.Long(t, time.Minute)
	s := newStack(t)
	t.Cleanup(func() { _ = s.command("down", "--volumes").Run() })
	s.do("build", "--quiet", "apiserver")
	out, err := s.command("run", "--rm", "--no-deps", "-T",
		"-e", "SHEDLOAD_DOOR=ajar", "-e", "SHEDLOAD_RETENTION=soon", "-e", "SHEDLOAD_DOR=open", "apiserver").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("got %v, want exit code 2", err)
	}
	for _, want := range []string{`SHEDLOAD_DOOR="ajar"`, `SHEDLOAD_RETENTION="soon"`, "SHEDLOAD_DOR=", "did you mean SHEDLOAD_DOOR?"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no word of %s in\n%s", want, out)
		}
	}
}

// TestBothGenerations lets each Compose that is here read the file, with all profiles.
func TestBothGenerations(t *testing.T) {
	s := newStack(t)
	for _, words := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(words[0], append(words[1:], "version")...).Run() != nil {
			continue
		}
		s.words = words
		t.Logf("%v: %d services", words, strings.Count(s.do("--profile", "compare", "config", "--services"), "\n"))
	}
}
