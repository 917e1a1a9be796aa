package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shedload/internal/ledger"
)

// foreign is impatient clients of somebody's service, with a spike in the middle.
const foreign = `name: foreign
about: A service that is not ours.
horizon: 7s
clients: [{name: users, arrivals: even, rate: 100, patience: 100ms, wait: plain, retry: {attempts: 3, on: [timeout, refusal]}}]
phases: [{name: spike, at: 2s, for: 1s, rate: 200}]
expect:
  base: ["view == 'client'", "generator.delivered"]
`

// TestAnyServiceGetsAVerdict runs plain clients against two services: one that is well,
// and one that answers too late once it has been hit by a spike.
func TestAnyServiceGetsAVerdict(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "foreign.yaml", foreign)
	write(t, "order.json", `{"book":7}`)
	var broken atomic.Bool
	var wrong atomic.Value
	start := time.Now()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.RequestURI() != "/orders?dry=1" || string(body) != `{"book":7}` ||
			r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Request-Timeout-Ms") == "" {
			wrong.Store(r.Method + " " + r.URL.String() + " " + string(body))
		}
		if broken.Load() && time.Since(start) > 3*time.Second {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer service.Close()
	line := []string{
		"run", "foreign.yaml", "--target", service.URL + "/orders?dry=1", "--body", "@order.json",
		"--header", "content-type: application/json", "--format", "json", "-q",
	}
	verdict := func() ledger.Summary {
		start = time.Now()
		code, out, stderr := loadgen(t, nil, line...)
		if code != 0 && code != exitInvalid { // a machine too busy for this load is another matter
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		var printed struct{ Variants []ledger.Summary }
		if err := json.Unmarshal([]byte(out), &printed); err != nil || len(printed.Variants) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		return printed.Variants[0]
	}
	well := verdict()
	if well.View != "client" || well.Generator.Delivered && (well.Recovery.Verdict != ledger.Steady || well.Requests.Succeeded < well.Requests.Total-20) {
		t.Errorf("a service that is well: %s, %+v", well.Sentence(), well.Requests)
	}
	broken.Store(true)
	ill := verdict()
	if ill.Generator.Delivered && ill.Recovery.Verdict != ledger.Collapsed {
		t.Errorf("a service that broke in the spike: %s", ill.Sentence())
	}
	if got := wrong.Load(); got != nil {
		t.Errorf("the service was asked %v", got)
	}
}

func TestWrongPlainFlags(t *testing.T) {
	workdir(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--header", "no colon"}, `is written "Name: value"`},
		{[]string{"--body", "@nowhere.json"}, "nowhere.json"},
		{[]string{"--header", "Host: elsewhere"}, "header Host is set by the generator itself"},
		{[]string{"--method", "GE T"}, "GE T"},
	} {
		write(t, "foreign.yaml", foreign)
		code, _, stderr := loadgen(t, nil, append([]string{"run", "foreign.yaml", "--target", "http://127.0.0.1:1"}, c.args...)...)
		if code == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %s; want %q", c.args, code, stderr, c.want)
		}
	}
}
