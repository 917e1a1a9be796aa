package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

func (r *rig) view(query string) LedgerView {
	r.t.Helper()
	got := r.must("GET", adminURL+"/v1/ledger"+query, "")
	var v LedgerView
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || got.status != 200 {
		r.t.Fatalf("%d %v: %q", got.status, err, got.body)
	}
	return v
}

// putPolicyText sends from loopback: the network in memory has no other addresses.
func (r *rig) put(body string) reply {
	r.t.Helper()
	return r.must("PUT", adminURL+"/v1/policy", body)
}

func TestThePolicyIsSwitchedWhileUnitsWait(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.post("X-Request-Timeout-Ms: 1000", "X-Request-Id: 1")
		r.post("X-Request-Timeout-Ms: 1000", "X-Request-Id: 2")
		r.post("X-Request-Timeout-Ms: 60000", "X-Request-Id: 3")
		got := r.must("GET", adminURL+"/v1/policy", "")
		if !strings.Contains(got.body, `"discipline":"fifo","drop_margin":"0s"`) || !strings.Contains(got.body, `"door":"open"`) {
			t.Errorf("policy %q", got.body)
		}
		got = r.put(`{"discipline":"lifo"}`)
		expect(t, "status", got.status, 200)
		expect(t, "newest first", r.lease(`{"worker":"w","want":1}`).leases(t).Leases[0].Request, "3")
		time.Sleep(940 * time.Millisecond)
		got = r.put(`{"discipline":"deadline","drop_margin":"55ms"}`)
		if !strings.Contains(got.body, `"discipline":"fifo+deadline","drop_margin":"55ms"`) {
			t.Errorf("policy %q", got.body)
		}
		expect(t, "still fits", r.lease(`{"worker":"w","want":1}`).leases(t).Leases[0].Request, "1")
		r.put(`{"drop_margin":"65ms"}`)
		poll := async(func() reply { return r.lease(`{"worker":"w","want":1}`) })
		expect(t, "dropped", r.totals().Dropped[work.Doomed], 1)
		r.put(`{"door":"queue_limit:1","retry_after":"3s","silent_drops":true}`)
		<-poll
		r.post()
		refused := r.post()
		expect(t, "refused", refused.status, 503)
		expect(t, "retry after", refused.header.Get("Retry-After"), "3")
		expect(t, "silent", r.Gauges().SilentDrops, true)
	})
}

func TestADisciplineWithItsOwnMarginBrings(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put(`{"discipline":"deadline","drop_margin":"10ms"}`)
		for body, want := range map[string]string{
			`{"discipline":"deadline"}`:       `"drop_margin":"10ms"`,
			`{"discipline":"deadline(30ms)"}`: `"drop_margin":"30ms"`,
			`{"drop_margin":"auto"}`:          `"drop_margin":"auto"`,
		} {
			r.put(`{"discipline":"deadline","drop_margin":"10ms"}`)
			if got := r.put(body); !strings.Contains(got.body, want) {
				t.Errorf("%s: %s", body, got.body)
			}
		}
	})
}

func TestWrongPoliciesChangeNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		before := r.must("GET", adminURL+"/v1/policy", "").body
		for body, names := range map[string]string{
			`{"disciplin":"lifo"}`:                     "discipline, drop_margin",
			`{"discipline":"lifo","margin":"1ms"}`:     "unknown field",
			`{"discipline":"filo"}`:                    "filo",
			`{"drop_margin":"-1ms"}`:                   "margin",
			`{"door":"closed"}`:                        "closed",
			`{"door":"priority:40,gold=20"}`:           "gold",
			`{"silent_drops":"yes"}`:                   "silent_drops",
			`{"codel_target":"5"}`:                     "durations",
			`{"discipline":"lifo"}{"drop_margin":"1"}`: "something follows",
			`lifo`: "body",
			``:     "body",
		} {
			got := r.put(body)
			if got.status != 400 || !strings.Contains(got.body, names) {
				t.Errorf("%s: %d %q, want 400 with %q", body, got.status, got.body, names)
			}
		}
		expect(t, "policy", r.must("GET", adminURL+"/v1/policy", "").body, before)
		expect(t, "method", r.must("DELETE", adminURL+"/v1/policy", "").status, 405)
	})
}

func TestARunBeginsWithWhatIsPending(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		first := r.view("").Instance
		r.post("X-Request-Timeout-Ms: 1000")
		r.post("X-Request-Timeout-Ms: 10000")
		lease := r.take()
		time.Sleep(500 * time.Millisecond)
		begin := `{"starts_in_ms":"250","horizon_ms":"3000","windows":[{"name":"all","from_ns":0,"to_ns":3000000000,"completed":true}]}`
		got := r.must("POST", adminURL+"/v1/ledger", begin)
		expect(t, "status", got.status, 201)
		v := r.view("")
		if v.Instance == first || !strings.Contains(got.body, v.Instance) {
			t.Errorf("instance %q, was %q, told %q", v.Instance, first, got.body)
		}
		expect(t, "now", v.NowMS, "-250")
		expect(t, "arrived before", v.Totals[0].Arrived, 0)
		expect(t, "another run", r.must("POST", adminURL+"/v1/ledger", begin).status, 409)

		r.post() // before the start: pending then, so it is carried as well
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		v = r.view("")
		expect(t, "carried", v.Totals[0].Carried, 3)
		expect(t, "queued", v.Queued, 2)
		expect(t, "in service", v.InService, 1)
		expect(t, "held", *v.Held, 3)
		r.post()
		time.Sleep(1500 * time.Millisecond)
		r.finish(lease)
		v = r.view("")
		expect(t, "late, by the shifted deadline", v.Totals[0].Late, 1)
		expect(t, "offered in row 0", v.Rows[0].Arrived, 1)
		expect(t, "queue at the end of row 0", v.Rows[0].Queue, 3)
		expect(t, "late in row 1", v.Rows[1].Late, 1)
		expect(t, "age", v.Rows[0].OldestAge, 1750*time.Millisecond)
		expect(t, "from", r.view("?from=1").From, 1)
		expect(t, "window", len(v.Windows), 1)
		r.conserved()

		time.Sleep(2 * time.Second)
		r.post() // after the horizon: not counted
		expect(t, "after the horizon", r.view("").Totals[0].Arrived, 4)
		expect(t, "the last row", r.view("").Rows[2].Sampled, true)
		expect(t, "the next run", r.must("POST", adminURL+"/v1/ledger", `{"horizon_ms":"1000000"}`).status, 201)
		expect(t, "forced", r.must("POST", adminURL+"/v1/ledger", `{"force":true}`).status, 201)
		expect(t, "carried again", r.view("").Totals[0].Carried, 4)
	})
}

func TestWrongRuns(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for body, names := range map[string]string{
			`{"starts_in_ms":250}`:                             "starts_in_ms",
			`{"starts_in_ms":"-1"}`:                            "milliseconds",
			`{"starts_in_ms":"999999999"}`:                     "starts_in_ms",
			`{"horizon":"1"}`:                                  "starts_in_ms, horizon_ms, windows, force",
			`{"windows":[{"name":"w","from_ns":5,"to_ns":1}]}`: "window",
		} {
			got := r.must("POST", adminURL+"/v1/ledger", body)
			if got.status != 400 || !strings.Contains(got.body, names) {
				t.Errorf("%s: %d %q, want 400 with %q", body, got.status, got.body, names)
			}
		}
		for _, query := range []string{"?from=-1", "?from=x"} {
			expect(t, query, r.must("GET", adminURL+"/v1/ledger"+query, "").status, 400)
		}
		expect(t, "too large", r.must("POST", adminURL+"/v1/ledger", `{"windows":["`+strings.Repeat("x", 70000)+`"]}`).status, 413)
	})
}

func TestEachSecondIsSampled(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.post()
		time.Sleep(3500 * time.Millisecond)
		var rows ledger.Rows
		r.Ledger(func(l *ledger.Ledger) { rows = l.Rows(0) })
		if len(rows) < 3 {
			t.Fatalf("%d rows", len(rows))
		}
		for i := range 3 {
			expect(t, "sampled", rows[i].Sampled, true)
			expect(t, "age", rows[i].OldestAge, time.Duration(i+1)*time.Second)
		}
	})
}

func TestGuard(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	const here, away = "127.0.0.1:5000", "192.0.2.1:5000"
	for _, c := range []struct {
		name, method, remote, header string
		guard                        Guard
		want                         int
	}{
		{"reading", "GET", away, "", Guard{}, 204},
		{"this machine", "PUT", here, "", Guard{}, 204},
		{"this machine, IPv6", "PUT", "[::1]:5000", "", Guard{}, 204},
		{"this machine, mapped", "PUT", "[::ffff:127.0.0.1]:5000", "", Guard{}, 204},
		{"another, no token configured", "PUT", away, "", Guard{}, 403},
		{"another, empty token", "POST", away, "Authorization: Bearer ", Guard{}, 403},
		{"another, no token", "PUT", away, "", Guard{Token: "secret"}, 401},
		{"another, wrong token", "PUT", away, "Authorization: Bearer secrets", Guard{Token: "secret"}, 401},
		{"another, other scheme", "PUT", away, "Authorization: Basic secret", Guard{Token: "secret"}, 401},
		{"another, right token", "PUT", away, "Authorization: Bearer secret", Guard{Token: "secret"}, 204},
		{"open", "PUT", away, "", Guard{Open: true}, 204},
		{"a web page on this machine", "PUT", here, "Origin: http://evil.example", Guard{}, 403},
		{"unknown remote", "PUT", "@", "", Guard{}, 403},
	} {
		req := httptest.NewRequest(c.method, "http://127.0.0.1:9100/v1/policy", nil)
		req.RemoteAddr = c.remote
		if name, value, found := strings.Cut(c.header, ": "); found {
			req.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		c.guard.Wrap(ok).ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
	}
}
