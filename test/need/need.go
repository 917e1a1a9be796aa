// Package need is how a test says what it needs beyond Go. Without it the test
// skips and says what it misses; where REQUIRE_ALL=1 is set, as .ci/run does, a
// skip is a failure.
package need

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// variable makes every need a must.
const variable = "REQUIRE_ALL"

// All reports whether every need is a must.
func All() bool { return os.Getenv(variable) == "1" }

// Long marks a test that takes long, and says for how long; it runs only where everything is required.
func Long(t testing.TB, takes time.Duration) {
	t.Helper()
	if !All() {
		t.Skipf("takes about %v: set %s=1 to run it", takes, variable)
	}
}

// Race reports whether the race detector is on.
func Race() bool { return race }

// NoRace skips a long run of one goroutine under the race detector, which learns nothing
// from it, and under which nothing is as fast or as small as it is.
func NoRace(t testing.TB) {
	t.Helper()
	if race {
		t.Skip("a long run of one goroutine, under the race detector")
	}
}

// Program returns the path of the first of names that is installed.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "one of these programs on the PATH: "+strings.Join(names, ", "))
	return ""
}

// Docker needs an engine that answers.
func Docker(t testing.TB) {
	t.Helper()
	Program(t, "docker")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker", "info").CombinedOutput(); err != nil {
		missing(t, "a Docker engine that answers `docker info`: "+err.Error()+"\n"+string(out))
	}
}

func missing(t testing.TB, what string) {
	t.Helper()
	if All() {
		t.Fatalf("needs %s (%s=1 forbids to skip)", what, variable)
	}
	t.Skipf("needs %s", what)
}
