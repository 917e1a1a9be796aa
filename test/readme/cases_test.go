package readme

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"shedload/internal/api"
	"shedload/internal/control"
	"shedload/internal/queue"
	"shedload/internal/scenario"
	"shedload/internal/service"
	"shedload/internal/station"
	"shedload/internal/worker"
	"shedload/scenarios"
)

// cases bring about the answers that api.md lists and its examples do not show.
var cases = []struct {
	call  string
	bring func(t *testing.T, s map[string]map[string]string) int
}{
	{"POST /v1/operations 410", canceled},
	{"POST /v1/operations 413", ask("hasty", "public", "POST /v1/operations", "a body that is too long")},
	{"POST /v1/operations 422", otherBody},
	{"POST /v1/operations 502", lost},
	{"POST /v1/operations 504", ask("", "public", "POST /v1/operations", "", "X-Request-Timeout-Ms: 0")},
	{"GET /v1/operations/{id} 400", badPrefer},
	{"GET /v1/operations/{id} 404", ask("", "public", "GET /v1/operations/x", "")},
	{"DELETE /v1/operations/{id} 404", ask("", "public", "DELETE /v1/operations/x", "")},
	{"POST /v1/leases 400", ask("", "workers", "POST /v1/leases", `{"worker":""}`)},
	{"POST /v1/leases 409", stale},
	{"POST /v1/leases 413", ask("", "workers", "POST /v1/leases", `"`+strings.Repeat("x", 2<<20)+`"`)},
	{"POST /v1/leases 503", closing(http.MethodPost, "/v1/leases", (*api.Server).Workers)},
	{"POST /v1/operations 503", closing(http.MethodPost, "/v1/operations", (*api.Server).Public)},
	{"PUT /v1/policy 400", ask("", "admin", "PUT /v1/policy", `{"discipline":"fair"}`)},
	{"PUT /v1/policy 413", ask("", "admin", "PUT /v1/policy", tooLong)},
	{"GET /v1/ledger 400", ask("", "admin", "GET /v1/ledger?from=-1", "")},
	{"POST /v1/ledger 400", ask("", "admin", "POST /v1/ledger", `{"horizon_ms":90000}`)},
	{"POST /v1/ledger 409", ask("", "admin", "POST /v1/ledger", `{"horizon_ms":"1"}`)}, // the example's lasts 90 s
	{"POST /v1/ledger 413", ask("", "admin", "POST /v1/ledger", tooLong)},
	{"PUT /v1/faults 400", ask("", "backend", "PUT /v1/faults", `{"for":"10s"}`)},
	{"PUT /v1/load 400", ask("", "control", "PUT /v1/load", `{"rate":-1}`)},
	{"POST /v1/spikes 400", ask("", "control", "POST /v1/spikes", `{"rate":"20"}`)},
	{"POST /v1/spikes 409", spikes},
	{"GET /healthz 200", everywhere("/healthz")},
	{"GET /readyz 200", everywhere("/readyz")},
	{"GET /metrics 200", everywhere("/metrics")},
	{"GET /readyz 503", closing(http.MethodGet, "/readyz", (*api.Server).Admin)},
	{"GET /readyz 503", workerClosing},
	{"GET /readyz 503", loadNotBegun},
}

// tooLong is over the 64 KiB of the admin listener.
var tooLong = `"` + strings.Repeat("x", 64<<10) + `"`

// ask sends one request.
func ask(on, listener, line, body string, header ...string) func(*testing.T, map[string]map[string]string) int {
	return func(t *testing.T, s map[string]map[string]string) int {
		method, path, _ := strings.Cut(line, " ")
		h, _ := message(header)
		return send(t, method, s[on][listener]+path, body, h).status
	}
}

func everywhere(path string) func(*testing.T, map[string]map[string]string) int {
	return func(t *testing.T, s map[string]map[string]string) int {
		for _, listener := range []string{"admin", "backend", "control"} {
			if got := send(t, http.MethodGet, s[""][listener]+path, "", nil); got.status != http.StatusOK {
				t.Errorf("%s: %d %s", listener, got.status, got.body)
			}
		}
		return http.StatusOK
	}
}

// waiting starts an operation under a key and returns where its status will be.
func waiting(t *testing.T, url, key string) <-chan int {
	status := make(chan int, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/operations", nil)
		if err != nil {
			panic(err) // the URL is ours
		}
		r.Header = http.Header{"Prefer": {"wait=60"}, "Idempotency-Key": {key}}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	return status
}

// canceled deletes an operation that somebody else waits for.
func canceled(t *testing.T, s map[string]map[string]string) int {
	url := s["hasty"]["public"]
	status := waiting(t, url, "canceled")
	same := send(t, http.MethodPost, url+"/v1/operations", "", http.Header{"Idempotency-Key": {"canceled"}})
	if got := send(t, http.MethodDelete, url+same.header.Get("Location"), "", nil); got.status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", got.status, got.body)
	}
	return <-status
}

func otherBody(t *testing.T, s map[string]map[string]string) int {
	url, key := s[""]["public"]+"/v1/operations", http.Header{"Idempotency-Key": {"body"}}
	send(t, http.MethodPost, url, "one", key)
	return send(t, http.MethodPost, url, "another", key).status
}

func badPrefer(t *testing.T, s map[string]map[string]string) int {
	url := s[""]["public"]
	at := send(t, http.MethodPost, url+"/v1/operations", "", nil).header.Get("Location")
	return send(t, http.MethodGet, url+at, "", http.Header{"Prefer": {"wait=soon"}}).status
}

// lease takes the unit of an operation that somebody waits for.
func lease(t *testing.T, s map[string]map[string]string, key string) (name string, status <-chan int) {
	t.Helper()
	status = waiting(t, s["hasty"]["public"], key)
	got := send(t, http.MethodPost, s["hasty"]["workers"]+"/v1/leases", `{"worker":"mine","want":1}`, nil)
	if got.status != http.StatusOK {
		t.Fatalf("lease: %d %s", got.status, got.body)
	}
	return names(got.body)["lease"], status
}

// lost never reports the work.
func lost(t *testing.T, s map[string]map[string]string) int {
	_, status := lease(t, s, "lost")
	return <-status
}

// stale reports it too late.
func stale(t *testing.T, s map[string]map[string]string) int {
	name, status := lease(t, s, "stale")
	<-status
	return send(t, http.MethodPost, s["hasty"]["workers"]+"/v1/leases", `{"worker":"mine","done":[{"lease":"`+name+`","ok":true}]}`, nil).status
}

func spikes(t *testing.T, s map[string]map[string]string) int {
	url := s[""]["control"] + "/v1/spikes"
	send(t, http.MethodPost, url, `{"factor":2,"for":"1m"}`, nil) // refused if that of the example is still under way
	return send(t, http.MethodPost, url, `{"factor":2,"for":"1m"}`, nil).status
}

func newServer(t *testing.T, guard api.Guard) *api.Server {
	t.Helper()
	discipline, err := queue.ParseDiscipline("fifo")
	if err != nil {
		t.Fatal(err)
	}
	server, err := api.New(api.Config{
		Station: station.Config{Queue: queue.Config{Discipline: discipline}, LeaseTimeout: time.Second}, Guard: guard,
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func newWorker(t *testing.T, guard api.Guard) *worker.Worker {
	t.Helper()
	model, err := service.New(service.Config{ServiceTime: service.Spec{A: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Config{
		API: "http://127.0.0.1:1", Name: "mine", Workers: 1, Model: model, Guard: guard.Wrap, Grace: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newService(t *testing.T, guard api.Guard) *control.Service {
	t.Helper()
	s, err := scenario.Load("shed-your-load", scenarios.Open)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans([]string{"fifo"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := control.NewService(control.ServiceConfig{
		Plan: plans[0], Lanes: []control.Lane{{Run: "live", Target: control.Target{Public: "http://127.0.0.1:1"}}}, Guard: guard.Wrap, Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// closing asks a server that shuts down.
func closing(method, path string, handler func(*api.Server) http.Handler) func(*testing.T, map[string]map[string]string) int {
	return func(t *testing.T, _ map[string]map[string]string) int {
		server := newServer(t, api.Guard{})
		server.Shutdown(t.Context())
		return call(handler(server), method, path, `{"worker":"mine","want":1}`, "").Code
	}
}

func workerClosing(t *testing.T, _ map[string]map[string]string) int {
	w := newWorker(t, api.Guard{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
	return call(w.Admin(), http.MethodGet, "/readyz", "", "").Code
}

func loadNotBegun(t *testing.T, _ map[string]map[string]string) int {
	return call(newService(t, api.Guard{}).Handler(), http.MethodGet, "/readyz", "", "").Code
}

// call asks a handler from another machine.
func call(h http.Handler, method, path, body, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
