package readme

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shedload/internal/app"
	"shedload/internal/boot"
)

type program func(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int

// start runs a program in this process, on free ports, until the test ends. It
// returns the base URLs of its listeners.
func start(t *testing.T, run program, args []string, environ ...string) map[string]string {
	t.Helper()
	for _, listener := range []string{"LISTEN_ADDR", "WORKER_ADDR", "ADMIN_ADDR", "CONTROL_ADDR"} {
		environ = append(environ, "SHEDLOAD_"+listener+"=127.0.0.1:0")
	}
	environ = append(environ, "SHEDLOAD_ANNOUNCE=true")
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	var stderr strings.Builder // the program's, until it has ended
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, environ, out, &stderr)
		out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if c := <-code; c != 0 {
			t.Errorf("exit code %d: %s", c, stderr.String())
		}
	})
	line, err := bufio.NewReader(in).ReadBytes('\n')
	var a boot.Announcement
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		t.Fatalf("announcement %q: %v", line, err)
	}
	urls := map[string]string{}
	for name, addr := range a.Listen {
		urls[name] = "http://" + addr
	}
	return urls
}

const classes = "SHEDLOAD_CLASSES=pay:critical,reports:sheddable:batch"

// systems are what the examples of api.md are sent to, by the word behind "http":
//
//	""     apiserver, backend, and a loadgen with five requests a second
//	alone  an apiserver without a backend, whose door lets one in
//	hasty  one without a backend, too, that gives leases up at once
//
// Each maps listeners to base URLs.
func systems(t *testing.T) map[string]map[string]string {
	t.Helper()
	usual := start(t, app.RunAPIServer, nil, classes)
	backend := start(t, app.RunBackend, nil, classes, "SHEDLOAD_API_URL="+usual["workers"])
	usual["backend"] = backend["admin"]
	calm := filepath.Join(t.TempDir(), "calm.yaml")
	if err := os.WriteFile(calm, []byte("name: calm\nhorizon: 1h\nclients: [{name: users, arrivals: even, rate: 5}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loadgen := start(t, app.RunLoadgen, []string{"serve"}, "SHEDLOAD_SCENARIO="+calm, "SHEDLOAD_TARGET_URL="+usual["public"], "SHEDLOAD_API_ADMIN_URL="+usual["admin"])
	usual["control"] = loadgen["control"]
	return map[string]map[string]string{
		"":      usual,
		"alone": start(t, app.RunAPIServer, nil, classes, "SHEDLOAD_DOOR=queue_limit:1", "SHEDLOAD_RETRY_AFTER=2s", "SHEDLOAD_CANCEL_ABANDONED=true"),
		"hasty": start(t, app.RunAPIServer, nil, "SHEDLOAD_LEASE_TIMEOUT=10ms", "SHEDLOAD_CANCEL_ABANDONED=true", "SHEDLOAD_MAX_BODY_BYTES=10"),
	}
}

// eventually asks until the answer is as wanted.
func eventually(t *testing.T, url string, enough func(reply) bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	var last reply
	for range 1000 {
		if last = send(t, http.MethodGet, url, "", nil); enough(last) {
			return
		}
		<-ticker.C
	}
	t.Fatalf("%s still answers %d %s", url, last.status, last.body)
}
