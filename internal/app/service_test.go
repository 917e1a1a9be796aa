package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shedload/internal/boot"
)

// running is a program that runs in this process.
type running struct {
	listen map[string]string
	stop   func() int // and returns its exit code
	stderr *bytes.Buffer
}

type runner func(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int

// start runs a program until the test ends or stops it.
func start(t *testing.T, run runner, environ ...string) running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	s := running{stderr: new(bytes.Buffer)}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, nil, append(environ, "SHEDLOAD_ANNOUNCE=true"), out, s.stderr)
		out.Close()
	}()
	stopped := false
	s.stop = func() int {
		cancel()
		if stopped {
			return 0
		}
		stopped = true
		return <-code
	}
	t.Cleanup(func() { s.stop() })
	var a boot.Announcement
	line, err := bufio.NewReader(in).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		t.Fatalf("announcement %q: %v", line, err)
	}
	s.listen = a.Listen
	return s
}

func startBoth(t *testing.T, environ ...string) (apiserver, backend running) {
	apiserver = start(t, RunAPIServer, append(environ,
		"SHEDLOAD_LISTEN_ADDR=127.0.0.1:0", "SHEDLOAD_WORKER_ADDR=127.0.0.1:0", "SHEDLOAD_ADMIN_ADDR=127.0.0.1:0")...)
	backend = start(t, RunBackend, append(environ, "SHEDLOAD_ADMIN_ADDR=127.0.0.1:0", "SHEDLOAD_SERVICE_TIME=5ms",
		"SHEDLOAD_API_URL=http://"+apiserver.listen["workers"])...)
	return apiserver, backend
}

func post(t *testing.T, url string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	return do(t, r)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestBothServicesWorkTogether sends operations through the real programs and
// reads the same numbers from their metrics.
func TestBothServicesWorkTogether(t *testing.T) {
	a, b := startBoth(t, "SHEDLOAD_CLASSES=pay:critical,search:sheddable")
	for i := range 3 {
		status, body := post(t, "http://"+a.listen["public"]+"/v1/operations", http.Header{
			"X-Request-Timeout-Ms": {"5000"}, "Prefer": {"wait=5"}, "X-Class": {"search"}, "X-Request-Id": {fmt.Sprint(i + 1)}, "X-Attempt": {"1"},
		})
		if status != http.StatusOK {
			t.Fatalf("got %d %s, want 200", status, body)
		}
	}
	if status, _ := post(t, "http://"+a.listen["public"]+"/v1/operations", http.Header{"X-Class": {"evil\"} 1\nshedload_forged 1"[:5]}}); status != http.StatusBadRequest {
		t.Errorf("got %d for a class that nobody configured, want 400", status)
	}
	_, page := get(t, "http://"+a.listen["admin"]+"/metrics")
	for _, want := range []string{
		`shedload_server_attempts_total{attempt="first",class="search"} 3`,
		`shedload_server_goodput_total{class="pay"} 0`,
		`shedload_server_outcomes_total{class="search",outcome="on_time",reason=""} 3`,
		`shedload_server_goodput_total{class="search"} 3`,
		`shedload_queue_wait_seconds_count 3`,
		`shedload_workers 4`,
		`shedload_in_service 0`,
		`shedload_discipline_info{discipline="fifo",door="open"} 1`,
		`shedload_state{state="healthy"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no %s in the apiserver's metrics", want)
		}
	}
	if strings.Contains(page, "evil") {
		t.Error("what a client sent became a label")
	}
	_, page = get(t, "http://"+b.listen["admin"]+"/metrics")
	for _, want := range []string{"shedload_backend_workers 4", "shedload_backend_units_total 3"} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no %s in the backend's metrics", want)
		}
	}
}

func TestServicesStopCleanly(t *testing.T) {
	a, b := startBoth(t)
	for _, s := range []running{a, b} {
		for _, path := range []string{"/healthz", "/readyz"} {
			if status, body := get(t, "http://"+s.listen["admin"]+path); status != http.StatusOK {
				t.Errorf("%s: got %d %s", path, status, body)
			}
		}
	}
	for name, s := range map[string]running{"backend": b, "apiserver": a} {
		if code := s.stop(); code != exitOK {
			t.Errorf("%s: exit code %d: %s", name, code, s.stderr)
		}
		if !strings.Contains(s.stderr.String(), `"msg":"configuration"`) || !strings.Contains(s.stderr.String(), `"msg":"stopped"`) {
			t.Errorf("%s: got log %s, want its configuration and its end", name, s.stderr)
		}
	}
}

// TestNothingIsLostAtShutdown stops an apiserver that has no workers while a client
// waits: the client is told, before the listener goes.
func TestNothingIsLostAtShutdown(t *testing.T) {
	a := start(t, RunAPIServer, "SHEDLOAD_LISTEN_ADDR=127.0.0.1:0", "SHEDLOAD_WORKER_ADDR=127.0.0.1:0", "SHEDLOAD_ADMIN_ADDR=127.0.0.1:0")
	answer := make(chan string, 1)
	go func() {
		status, body := post(t, "http://"+a.listen["public"]+"/v1/operations", http.Header{"X-Request-Timeout-Ms": {"60000"}, "Prefer": {"wait=60"}})
		answer <- fmt.Sprint(status, " ", body)
	}()
	for queued := false; !queued; {
		_, page := get(t, "http://"+a.listen["admin"]+"/metrics")
		queued = strings.Contains(page, "\nshedload_queue_length 1\n")
	}
	if code := a.stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, a.stderr)
	}
	select {
	case got := <-answer:
		if !strings.HasPrefix(got, "503") || !strings.Contains(got, "closed") {
			t.Errorf("got %s, want 503 and the reason closed", got)
		}
	case <-time.After(time.Minute):
		t.Error("the client was not answered")
	}
}

func TestCommandLines(t *testing.T) {
	for name, run := range map[string]runner{"apiserver": RunAPIServer, "backend": RunBackend} {
		for _, c := range []struct {
			args, environ []string
			code          int
			stdout        string
			stderr        string
		}{
			{args: []string{"--help"}, stdout: "SHEDLOAD_ADMIN_ADDR"},
			{args: []string{"--help"}, stdout: "Examples:"},
			{args: []string{"version"}, stdout: name + " "},
			{args: []string{"serve"}, code: exitUsage, stderr: `unknown argument ["serve"]: allowed are healthcheck, version, --help, or none`},
			{args: []string{"healthcheck", "now"}, code: exitUsage, stderr: "unknown argument"},
			{args: []string{"healthcheck"}, environ: []string{"SHEDLOAD_ADMIN_ADDR=127.0.0.1:1"}, code: exitError, stderr: "not ready: "},
			{args: []string{"healthcheck"}, environ: []string{"SHEDLOAD_ADMIN_ADDR=:1"}, code: exitError, stderr: "localhost"},
			{environ: []string{"SHEDLOAD_ADMIN_ADDR=9100", "SHEDLOAD_WORKRES=1"}, code: exitUsage, stderr: "2 wrong in the environment"},
			{environ: []string{"SHEDLOAD_ADMIN_ADDR=203.0.113.1:1", "SHEDLOAD_LISTEN_ADDR=127.0.0.1:0", "SHEDLOAD_WORKER_ADDR=127.0.0.1:0"}, code: exitError, stderr: "admin listener"},
		} {
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), c.args, c.environ, &stdout, &stderr)
			if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("%s %q with %q: got %d, %q, %q; want %d, %q, %q", name, c.args, c.environ, code, stdout.String(), stderr.String(), c.code, c.stdout, c.stderr)
			}
		}
	}
}

// TestPolicyThatCannotBe is found by the station, after each variable alone was right.
func TestPolicyThatCannotBe(t *testing.T) {
	var stderr bytes.Buffer
	code := RunAPIServer(context.Background(), nil, []string{
		"SHEDLOAD_DOOR=priority:40,elsewhere=20", "SHEDLOAD_CLASSES=pay:critical", "SHEDLOAD_ADMIN_ADDR=127.0.0.1:0",
	}, io.Discard, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "elsewhere") {
		t.Errorf("got %d, %s; want exit code 2 and the unknown class", code, stderr.String())
	}
}
