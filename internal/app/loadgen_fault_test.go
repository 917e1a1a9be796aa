package app

import (
	"strings"
	"testing"
)

// TestFault brings faults into a backend by hand, and shows them.
func TestFault(t *testing.T) {
	t.Chdir(t.TempDir())
	_, backend := startBoth(t, "SHEDLOAD_CLASSES=pay:critical,report:sheddable")
	environ := []string{"SHEDLOAD_BACKEND_ADMIN_URL=http://" + backend.listen["admin"]}

	if code, out, _ := loadgen(t, environ, "fault", "--format", "json"); code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("no fault yet: exit code %d, %q", code, out)
	}
	for _, c := range []struct{ line, said string }{
		{"fault --capacity-share 0.4 --for 20s", "40 % of the workers, for 20s"},
		{"fault --factor 3 --class report --in 1s", "service time x 3 for class report, in 1s, for 10s"},
		{"fault --service-time exp:150ms --for 1m", "service time exp:150ms, for 1m0s"},
		{"fault --pause --for 1ms", "all work pauses, for 1ms"},
		{"fault --hang --class pay --for 30s", "calls hang for class pay, for 30s"},
	} {
		code, _, stderr := loadgen(t, environ, strings.Fields(c.line)...)
		if code != 0 || !strings.Contains(stderr, c.said) {
			t.Errorf("%s: exit code %d, said %q, want %q", c.line, code, stderr, c.said)
		}
	}
	_, out, _ := loadgen(t, environ, "fault")
	for _, want := range []string{"40 % of the workers, for 20s (ends in ", "class report", "exp:150ms", "calls hang for class pay"} {
		if !strings.Contains(out, want) {
			t.Errorf("the faults are\n%swant %q", out, want)
		}
	}
}

// TestWrongFaults says what is allowed, and changes nothing.
func TestWrongFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	_, backend := startBoth(t, "SHEDLOAD_CLASSES=pay:critical,report:sheddable")
	environ := []string{"SHEDLOAD_BACKEND_ADMIN_URL=http://" + backend.listen["admin"]}
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"fault --for 3s", 2, "one of --service-time, --factor"},
		{"fault --factor 3 --pause", 2, "none of the others can be"},
		{"fault --factor -1", 2, "factor -1 is not above 0"},
		{"fault --capacity-share 1.5", 2, "not above 0 and at most 1"},
		{"fault --service-time 5", 2, "--service-time"},
		{"fault --pause --for 0s", 2, "must be above 0s"},
		{"fault --pause --class pay", 2, "service_time, factor or hang only"},
		{"fault --hang --class pya", 2, `unknown class "pya"`},
		{"fault --hang --for soon", 2, "invalid argument"},
		{"fault now", 2, "unknown command"},
		{"fault --format xml", 2, `unknown format "xml"`},
		{"fault --hang --backend-admin http://127.0.0.1:1", 3, "cannot be reached"},
	} {
		code, _, stderr := loadgen(t, environ, strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.line, code, stderr, c.code, c.want)
		}
	}
	if _, out, _ := loadgen(t, environ, "fault", "--format", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("a wrong fault was brought in: %s", out)
	}
}
