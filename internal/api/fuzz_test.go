package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"shedload/internal/work"
)

// FuzzHeaders parses the headers of a start: whatever they hold, the error names
// one of them, and what is accepted is in range.
func FuzzHeaders(f *testing.F) {
	names := []string{headerRequest, headerAttempt, headerClass, headerCriticality, headerKey, headerPrefer, "X-Request-Timeout-Ms"}
	f.Add("1", "2", "gold", "critical", "k", "wait=1", "949.731")
	f.Add("", "0", "x", "y", "", "wait=x", "-1")
	f.Add("18446744073709551616", "65536", "bronze", "critical", strings.Repeat("k", 300), `"`, "1e3")
	s, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	s.class = []work.Class{{Name: "gold", Criticality: work.Critical}, {Name: "bronze", Criticality: work.Sheddable}}
	f.Fuzz(func(t *testing.T, request, attempt, class, criticality, idempotency, prefer, timeout string) {
		h := http.Header{}
		for i, value := range []string{request, attempt, class, criticality, idempotency, prefer, timeout} {
			h[names[i]] = []string{value}
		}
		const now = work.Instant(5)
		a, err := s.parse(h, now)
		if err == nil {
			if a.attempt == 0 || int(a.class) >= len(s.class) || a.deadline < now || a.wait < 0 || a.key == "" {
				t.Fatalf("accepted %+v", a)
			}
			return
		}
		for _, name := range names {
			if strings.HasPrefix(err.Error(), name+": ") {
				return
			}
		}
		t.Fatalf("error names no header: %v", err)
	})
}

// FuzzLeaseRequest sends any body to the leases: what is refused changes
// nothing, and no body can name a lease that was never given.
func FuzzLeaseRequest(f *testing.F) {
	f.Add(`{"worker":"w","want":0,"done":[{"lease":"00000000000000000000000000000000","ok":true,"work_ms":1}]}`)
	f.Add(`{"worker":"w","leave":true}`)
	f.Add(`{"worker":"w","workers":10001}`)
	f.Add(`{`)
	s, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", leasesPath, strings.NewReader(body))
		req, err := readLeaseRequest(w, r)
		if err != nil {
			return
		}
		req.Want = 0 // or it would be held
		turned := s.turn(r, req)
		if turned.poll != nil || len(turned.stale) != len(req.Done) {
			t.Fatalf("%q: %+v", body, turned)
		}
	})
}
