package worker_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"shedload/internal/work"
)

func TestFaults(t *testing.T) {
	wait := "Prefer: wait=60"
	for _, c := range []struct {
		name, fault string
		want        time.Duration // for four units on two workers
	}{
		{"none", ``, 100 * time.Millisecond},
		{"service time", `{"for":"5s","service_time":"200ms"}`, 400 * time.Millisecond},
		{"factor", `{"for":"5s","factor":3}`, 300 * time.Millisecond},
		{"capacity", `{"for":"5s","capacity_share":0.5}`, 200 * time.Millisecond},
		{"pause", `{"for":"1s","pause":true}`, 1100 * time.Millisecond},
		{"pause while working", `{"at":"20ms","for":"1s","pause":true}`, 1100 * time.Millisecond},
		{"hang", `{"for":"2s","hang":true}`, 2050 * time.Millisecond},
		{"hang of another class", `{"for":"2s","hang":true,"class":"other"}`, 100 * time.Millisecond},
		{"over before", `{"for":"1ms","factor":100}`, 100 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, options{workers: 2, service: "50ms", classes: []work.Class{{Name: "a"}, {Name: "other"}}}, func(r *rig) {
				if c.fault != "" {
					if code, body := r.fault(c.fault); code != 204 {
						t.Fatalf("%d %q", code, body)
					}
				}
				time.Sleep(time.Millisecond)
				start := time.Now()
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() { expect(t, "status", r.post(wait), 200) })
				}
				wg.Wait()
				if d := time.Since(start) - c.want; d < -2*time.Millisecond || d > 2*time.Millisecond {
					t.Errorf("took %v, want %v", time.Since(start), c.want)
				}
				time.Sleep(10 * time.Second)
				_, body := r.call("GET", "/v1/faults", "")
				expect(t, "faults at last", body, "{\"faults\":[]}\n")
			})
		})
	}
}

func TestAPauseThatComesLaterStretchesRunningWork(t *testing.T) {
	inBubble(t, options{workers: 1, service: "100ms"}, func(r *rig) {
		start := time.Now()
		status := make(chan int, 1)
		go func() { status <- r.post("Prefer: wait=60") }()
		time.Sleep(40 * time.Millisecond)
		r.fault(`{"for":"1s","pause":true}`)
		_, body := r.call("GET", "/v1/faults", "")
		expect(t, "faults", body, `{"faults":[{"for":"1s","pause":true,"ends_in":"1s"}]}`+"\n")
		_, body = r.call("GET", "/v1/worker", "")
		var numbers struct{ Capacity, Busy int }
		if err := json.Unmarshal([]byte(body), &numbers); err != nil {
			t.Fatal(err)
		}
		expect(t, "capacity", numbers.Capacity, 0)
		expect(t, "busy", numbers.Busy, 1)
		expect(t, "status", <-status, 200)
		expect(t, "took", time.Since(start), 1100*time.Millisecond)
	})
}

func TestWrongFaultsChangeNothing(t *testing.T) {
	inBubble(t, options{workers: 1, service: "50ms"}, func(r *rig) {
		for body, want := range map[string]string{
			``:                                      "body",
			`{}`:                                    "effects",
			`{"for":"10s"}`:                         "effects",
			`{"for":10,"pause":true}`:               "for",
			`{"for":"ten","pause":true}`:            "10s",
			`{"for":"10s","pause":true,"factor":2}`: "effects",
			`{"for":"10s","factor":-1}`:             "factor",
			`{"for":"10s","capacity_share":2}`:      "capacity_share",
			`{"for":"10s","hang":true,"class":"x"}`: "class",
			`{"for":"10s","service_time":"fast"}`:   "fast",
			`{"for":"10s","pauze":true}`:            "capacity_share, pause, hang",
			`{"for":"10s","pause":true} true`:       "something follows",
		} {
			if code, got := r.fault(body); code != 400 || !strings.Contains(got, want) {
				t.Errorf("%s: %d %q, want 400 with %q", body, code, got, want)
			}
		}
		_, body := r.call("GET", "/v1/faults", "")
		expect(t, "faults", body, "{\"faults\":[]}\n")
		code, _ := r.call("DELETE", "/v1/faults", "")
		expect(t, "method", code, 405)
	})
}
