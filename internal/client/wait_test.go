package client

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

const ms = time.Millisecond

// ways are all that can carry an attempt to the API.
var ways = []struct {
	wait     scenario.Wait
	protocol scenario.Protocol
}{
	{scenario.WaitPost, scenario.H1}, {scenario.WaitPost, scenario.H2C},
	{scenario.WaitClose, scenario.H1}, {scenario.WaitClose, scenario.H2C},
	{scenario.WaitPoll, scenario.H1}, {scenario.WaitPoll, scenario.H2C},
}

// TestPatienceIsExact: nobody answers, and each attempt ends and the next one
// leaves at the very instant at which patience is over.
func TestPatienceIsExact(t *testing.T) {
	for _, way := range ways {
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := one(users(700*ms, 3))
				g.Wait, g.Protocol = way.wait, way.protocol
				r, stats := play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(_ http.ResponseWriter, q *http.Request) {
					_, _ = io.Copy(io.Discard, q.Body)
					<-q.Context().Done()
				})
				expect(t, "answers", r.outcomes(), []string{"1.7s timed_out", "2.4s timed_out", "3.1s timed_out"})
				for i, e := range r.of(ledger.Sent) {
					if want := work.Instant(time.Second + time.Duration(i)*700*ms); e.At != want || e.Took != 0 {
						t.Errorf("attempt %d left at %v, %v late, want %v", i+1, e.At, e.Took, want)
					}
				}
				if ended := r.of(ledger.Ended); len(ended) != 1 || ended[0].End != ledger.EndGaveUpAttempts || ended[0].At != work.Instant(3100*ms) {
					t.Errorf("ended %+v", ended)
				}
				if stats.Cut != 3 || stats.InFlight != 0 || len(stats.ClientErrors) > 0 {
					t.Errorf("%+v", stats)
				}
			})
		})
	}
}

// TestAnswersInTime: the answer to the second attempt comes in time; what the
// server answers at the deadline of the first is no answer.
func TestAnswersInTime(t *testing.T) {
	for _, way := range ways[:2] {
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := one(users(700*ms, 3))
				g.Wait, g.Protocol = way.wait, way.protocol
				r, stats := play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(w http.ResponseWriter, q *http.Request) {
					if q.Header.Get(headerAttempt) == "1" {
						hold(q, 700*ms)
						w.WriteHeader(http.StatusAccepted)
						return
					}
					hold(q, 300*ms)
				})
				expect(t, "answers", r.outcomes(), []string{"1.7s timed_out", "2s succeeded"})
				if stats.Cut != 0 || stats.LateAnswers != 0 {
					t.Errorf("%+v", stats)
				}
			})
		})
	}
}

// TestLateAnswerWithinGrace: the connection is kept, and the answer changes nothing.
func TestLateAnswerWithinGrace(t *testing.T) {
	for _, late := range []time.Duration{1, Grace - 1, Grace + 1} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, stats := play(t, Config{Groups: []Group{one(users(700*ms, 1))}, Horizon: 5 * time.Second},
					func(_ http.ResponseWriter, q *http.Request) { hold(q, 700*ms+late) })
				expect(t, "answers", r.outcomes(), []string{"1.7s timed_out"})
				want := Stats{LateAnswers: 1}
				if late > Grace {
					want = Stats{Cut: 1}
				}
				if stats.LateAnswers != want.LateAnswers || stats.Cut != want.Cut {
					t.Errorf("%+v, want %+v", stats, want)
				}
			})
		})
	}
}

// TestClientLeaves: the server sees its client leave at the deadline, or
// after the grace where it may answer at the deadline.
func TestClientLeaves(t *testing.T) {
	for _, way := range ways[:4] {
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := one(users(700*ms, 1))
				g.Wait, g.Protocol = way.wait, way.protocol
				began, left := time.Now(), time.Time{}
				var mu sync.Mutex
				play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(_ http.ResponseWriter, q *http.Request) {
					_, _ = io.Copy(io.Discard, q.Body) // only then does net/http notice
					<-q.Context().Done()
					mu.Lock()
					defer mu.Unlock()
					left = time.Now()
				})
				want := 1700 * ms
				if way.wait == scenario.WaitPost {
					want += Grace
				}
				mu.Lock()
				defer mu.Unlock()
				if got := left.Sub(began); got != want {
					t.Errorf("the client left after %v, want %v", got, want)
				}
			})
		})
	}
}

// TestPoll: started, then asked for until it is over.
func TestPoll(t *testing.T) {
	const path = "/v1/operations/0123"
	tests := []struct {
		name  string
		polls []string // what each GET is answered with
		want  []string
	}{
		{"done at once", []string{`{"state":"done"}`}, []string{"1.1s succeeded"}},
		{"done at the second look", []string{`{"state":"pending"}`, `{"state":"done"}`}, []string{"1.2s succeeded"}},
		{"dropped", []string{`{"state":"failed","reason":"doomed"}`}, []string{"1.1s dropped doomed"}},
		{"lost", []string{`{"state":"failed","reason":"lost"}`}, []string{"1.1s failed lost"}},
		{"no document", []string{`nonsense`}, []string{"1.1s client_error"}},
		{"always pending", slices.Repeat([]string{`{"state":"pending"}`}, 20), []string{"1.7s timed_out"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := one(users(700*ms, 1))
				g.Wait = scenario.WaitPoll
				var mu sync.Mutex
				polls := 0
				r, _ := play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(w http.ResponseWriter, q *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					if q.Method == http.MethodPost {
						if q.Header.Get(headerPrefer) != "" {
							t.Error("the start asks to wait")
						}
						w.Header().Set("Location", path)
						w.WriteHeader(http.StatusAccepted)
						return
					}
					if q.URL.Path != path || q.Header.Get(headerPrefer) != "wait=1" || q.Header.Get("X-Request-Timeout-Ms") == "" {
						t.Errorf("poll of %s with %v", q.URL, q.Header)
					}
					time.Sleep(100 * ms)
					fmt.Fprint(w, tt.polls[polls])
					polls++
				})
				expect(t, "answers", r.outcomes(), tt.want)
			})
		})
	}
}

// TestPollDoesNotSpin: a server that does not hold the answer is asked each 50 ms.
func TestPollDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := one(users(700*ms, 1))
		g.Wait = scenario.WaitPoll
		var mu sync.Mutex
		polls := 0
		play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if q.Method == http.MethodPost {
				w.Header().Set("Location", "/x")
				w.WriteHeader(http.StatusAccepted)
				return
			}
			polls++
			fmt.Fprint(w, `{"state":"pending"}`)
		})
		if polls != 14 {
			t.Errorf("%d polls in 700 ms, want one each 50 ms", polls)
		}
	})
}

// TestPlain: any URL, and what its answers mean.
func TestPlain(t *testing.T) {
	for status, want := range map[int]string{
		200: "1.2s succeeded", 204: "1.2s succeeded", 202: "1.2s succeeded", 404: "1.2s failed", 500: "1.2s failed",
		429: "1.2s refused", 503: "1.2s refused", 302: "1.2s failed",
	} {
		for _, protocol := range []scenario.Protocol{scenario.H1, scenario.H2C} {
			t.Run(fmt.Sprint(status, protocol), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := one(users(700*ms, 1))
					g.Wait, g.Protocol = scenario.WaitPlain, protocol
					g.Plain = Plain{Method: "PUT", Header: http.Header{"X-A": {"b"}}, Body: []byte("body")}
					r, _ := play(t, Config{Groups: []Group{g}, Horizon: 5 * time.Second}, func(w http.ResponseWriter, q *http.Request) {
						body, err := io.ReadAll(q.Body)
						if err != nil || string(body) != "body" || q.Method != "PUT" || q.Header.Get("X-A") != "b" ||
							q.Header.Get(headerRequestID) != "" || q.Header.Get("X-Request-Timeout-Ms") != "700" {
							t.Errorf("got %s %v %q %v", q.Method, q.Header, body, err)
						}
						hold(q, 200*ms)
						w.WriteHeader(status)
					})
					expect(t, "answers", r.outcomes(), []string{want})
				})
			})
		}
	}
}
