package e2e

import (
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestServeSpikeAndPolicy plays load without an end into two lanes that differ in
// their queue alone, brings a small spike into both, and switches one live.
func TestServeSpikeAndPolicy(t *testing.T) {
	lanes, admin := []string{}, ""
	for _, discipline := range []string{"fifo", "deadline"} {
		api := start(t, []string{"SHEDLOAD_QUEUE_DISCIPLINE=" + discipline}, "apiserver")
		start(t, []string{"SHEDLOAD_API_URL=" + api.url("workers")}, "backend")
		lanes = append(lanes, discipline+"="+api.url("public")+"+"+api.url("admin"))
		admin = api.url("admin")
	}
	serve := start(t, []string{
		"SHEDLOAD_CONTROL_ADDR=127.0.0.1:0", "SHEDLOAD_SCENARIO=shed-your-load/fix-retry-budget", "SHEDLOAD_LANES=" + strings.Join(lanes, ","),
	}, "loadgen", "serve")

	for deadline := time.Now().Add(10 * time.Second); status(t, serve.url("control")+"/readyz") != http.StatusOK; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the load has not begun after 10 s")
		}
	}
	spike := run(t, time.Minute, []string{"SHEDLOAD_CONTROL_URL=" + serve.url("control")}, "loadgen", "spike", "--rate", "120", "--for", "2s", "--follow")
	if spike.code != 0 {
		t.Fatalf("spike: exit %d\n%s%s", spike.code, spike.stdout, spike.stderr)
	}
	page := get(t, serve.url("control")+"/metrics")
	requests := [2]float64{}
	for i, lane := range []string{"fifo", "deadline"} {
		requests[i] = metric(t, page, `shedload_client_requests_total{class="all",run="`+lane+`"}`)
		metric(t, page, `shedload_retry_budget_balance{client="users",run="`+lane+`"}`)
	}
	// The arrivals are identical; the page may be read between two lanes' counting of one.
	if requests[0] < 200 || math.Abs(requests[0]-requests[1]) > 2 {
		t.Errorf("requests %v: want the same in both lanes, and those of the spike", requests)
	}

	for _, step := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"policy", "get", "--admin", admin}, "fifo+deadline", 0},
		{[]string{"policy", "set", "discipline=lifo", "--admin", admin}, "lifo", 0},
		{[]string{"policy", "get", "--admin", admin}, "lifo", 0},
		{[]string{"policy", "set", "discipline=filo", "--admin", admin}, "filo", 2},
	} {
		r := run(t, 20*time.Second, nil, append([]string{"loadgen"}, step.args...)...)
		if r.code != step.code || !strings.Contains(r.stdout+r.stderr, step.want) {
			t.Errorf("%v: exit %d, want %d and %q in\n%s%s", step.args, r.code, step.code, step.want, r.stdout, r.stderr)
		}
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, r.Status, err)
	}
	return string(text)
}

// metric returns the value of a series on a metrics page.
func metric(t *testing.T, page, series string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		t.Errorf("no series %s", series)
		return 0
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Error(err)
	}
	return v
}
