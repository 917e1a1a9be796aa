package api

import (
	"strings"
	"testing"

	"shedload/internal/work"
)

func TestHostileHeaders(t *testing.T) {
	classes := []work.Class{{Name: "gold", Criticality: work.Critical}, {Name: "bronze", Criticality: work.Sheddable}}
	inBubble(t, func(c *Config) { c.Station.Classes = classes }, func(r *rig) {
		cases := []struct {
			header string
			status int
			names  string // in the detail
		}{
			{"X-Request-Id: 18446744073709551615", 202, ""},
			{"X-Request-Id: 18446744073709551616", 400, "X-Request-Id"},
			{"X-Request-Id: -1", 400, "X-Request-Id"},
			{"X-Request-Id: +1", 400, "X-Request-Id"},
			{"X-Request-Id: 0x10", 400, "X-Request-Id"},
			{"X-Request-Id: 1_000", 400, "X-Request-Id"},
			{"X-Request-Id: ", 400, "X-Request-Id"},
			{"X-Request-Id: " + strings.Repeat("9", 4000), 400, "X-Request-Id"},
			{"X-Attempt: 1", 202, ""},
			{"X-Attempt: 0", 400, "X-Attempt"},
			{"X-Attempt: 65535", 202, ""},
			{"X-Attempt: 65536", 400, "X-Attempt"},
			{"X-Attempt: 1.5", 400, "X-Attempt"},
			{"X-Class: gold", 202, ""},
			{"X-Class: GOLD", 400, "gold, bronze"},
			{"X-Class: ", 400, "X-Class"},
			{"X-Criticality: critical", 202, ""},
			{"X-Criticality: critical_plus", 202, ""},
			{"X-Criticality: Critical", 400, "critical_plus"},
			{"X-Request-Timeout-Ms: 949.731", 202, ""},
			{"X-Request-Timeout-Ms: 949.7311", 400, "X-Request-Timeout-Ms"},
			{"X-Request-Timeout-Ms: -1", 400, "X-Request-Timeout-Ms"},
			{"X-Request-Timeout-Ms: NaN", 400, "X-Request-Timeout-Ms"},
			{"X-Request-Timeout-Ms: 1e3", 400, "X-Request-Timeout-Ms"},
			{"Grpc-Timeout: 1x", 400, "Grpc-Timeout"},
			{"X-Request-Deadline: tomorrow", 400, "X-Request-Deadline"},
			{"Prefer: wait=-1", 400, "Prefer"},
			{"Prefer: wait=", 400, "Prefer"},
			{"Prefer: wait", 400, "Prefer"},
			{"Prefer: wait=1e9", 400, "Prefer"},
			{"Prefer: wait=0.0001", 400, "Prefer"},
			{"Prefer: wait=9999999999999", 400, "Prefer"},
			{"Prefer: respond-async, return=minimal", 202, ""},
			{"Prefer: x=\"a,wait=9\", wait=\"0\"", 202, ""},
			{"Idempotency-Key: ", 400, "Idempotency-Key"},
			{"Idempotency-Key: " + strings.Repeat("k", 256), 400, "Idempotency-Key"},
			{"Idempotency-Key: k\u00e4", 400, "Idempotency-Key"},
		}
		malformed := int64(0)
		for _, c := range cases {
			got := r.post(c.header)
			if got.status != c.status || !strings.Contains(got.body, c.names) {
				t.Errorf("%.60q: %d %q, want %d with %q", c.header, got.status, got.body, c.status, c.names)
			}
			if c.status == 400 {
				malformed++
				expect(t, "reason", got.state(t).Reason, "malformed")
			}
		}
		for _, name := range []string{"X-Request-Id: 1", "X-Attempt: 1", "X-Class: gold", "X-Request-Timeout-Ms: 5", "Idempotency-Key: k"} {
			got := r.post(name, name)
			expect(t, "twice "+name, got.status, 400)
			malformed++
		}
		got := r.post("X-Class: gold", "X-Criticality: sheddable")
		expect(t, "contradiction", got.status, 400)
		expect(t, "refused", r.totals().Refused[work.Malformed], malformed+1)
	})
}

func TestCriticalityFindsAClass(t *testing.T) {
	classes := []work.Class{{Name: "gold", Criticality: work.Critical}, {Name: "bronze", Criticality: work.Sheddable}}
	inBubble(t, func(c *Config) { c.Station.Classes = classes }, func(r *rig) {
		r.post("X-Criticality: sheddable")
		r.post("X-Class: gold")
		r.post("X-Criticality: sheddable_plus")
		l := r.lease(`{"worker":"w","want":3}`).leases(t)
		expect(t, "by criticality", l.Leases[0].Class, "bronze")
		expect(t, "by name", l.Leases[1].Class, "gold")
		expect(t, "no such criticality", l.Leases[2].Class, "gold")
	})
}

func TestRoutes(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.post().state(t).ID
		for _, c := range []struct {
			method, path string
			status       int
			allow        string
		}{
			{"GET", "/v1/operations", 405, "POST"},
			{"PUT", "/v1/operations/" + id, 405, "GET, DELETE"},
			{"POST", "/v1/operations/" + id, 405, "GET, DELETE"},
			{"GET", "/v1/operations/" + id, 200, ""},
			{"GET", "/v1/operations/", 404, ""},
			{"GET", "/v1/operations/" + id + "/x", 404, ""},
			{"GET", "/v1/operations/" + strings.ToUpper(id) + "x", 404, ""},
			{"GET", "/v1/operations/" + strings.Repeat("0", 32), 404, ""},
			{"DELETE", "/v1/operations/" + strings.Repeat("f", 32), 404, ""},
			{"GET", "/v1/operations/%2e%2e", 404, ""},
			{"GET", "/", 404, ""},
			{"POST", "/v1/operationsx", 404, ""},
			{"POST", "/v1/leases", 404, ""}, // workers only
		} {
			got := r.must(c.method, publicURL+c.path, "")
			if got.status != c.status || got.header.Get("Allow") != c.allow {
				t.Errorf("%s %s: %d, allow %q", c.method, c.path, got.status, got.header.Get("Allow"))
			}
			if c.status >= 400 {
				expect(t, "problem", got.state(t).Status, c.status)
			}
		}
	})
}
