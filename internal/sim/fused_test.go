package sim

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"shedload/test/need"
)

// TestNothingIsFused compiles the simulator for arm64, where the compiler may fuse a
// product with a sum and so round once instead of twice, and finds that it nowhere
// does: a run has the same bytes there by construction. (HdrHistogram's own rank of
// a percentile may be fused; the ledger asks it in a way that does not depend on that.)
func TestNothingIsFused(t *testing.T) {
	need.Long(t, time.Minute)
	file := filepath.Join(t.TempDir(), "sim.test")
	build := exec.Command("go", "test", "-c", "-o", file, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := exec.Command("go", "tool", "objdump", "-s", "^shedload/internal", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(regexp.MustCompile(`FMULD`).FindAll(code, -1)) == 0 {
		t.Fatal("no product of floating point at all: is this the code?")
	}
	for _, line := range regexp.MustCompile(`(?m)^.*F(N)?M(ADD|SUB).*$`).FindAll(code, -1) {
		if !bytes.Contains(line, []byte("_test.go:")) { // tests may compute as they like
			t.Errorf("fused: %s", line)
		}
	}
}
