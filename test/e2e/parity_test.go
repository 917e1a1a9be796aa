package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shedload/internal/client"
	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/test/need"
)

// tolerance is how far a live figure may be from that of virtual time: a share of
// the larger one, and so many on top. Service over HTTP takes about a millisecond
// more than in virtual time, and a busy machine adds to that.
type tolerance struct{ share, extra float64 }

func (t tolerance) holds(live, sim float64) bool {
	return math.Abs(live-sim) <= t.share*max(live, sim)+t.extra
}

var usual = tolerance{0.08, 5}

// compared are the figures in which both engines must agree.
var compared = []string{
	"requests.total", "requests.succeeded", "requests.gave_up", "requests.throttled", "attempts.total", "attempts.on_time", "attempts.late",
	"attempts.refused_total", "attempts.dropped_total", "attempts.canceled", "attempts.failed", "resumes", "goodput_client", "peak.queue",
}

// parities says what is particular about a variant; those that are not named have
// the usual tolerance.
var parities = map[string]struct {
	tolerance
	why  string
	must func(live ledger.Summary) bool // what the variant is there for
}{
	"poll":                     {must: func(s ledger.Summary) bool { return s.Requests.Succeeded == 200 }},
	"burst":                    {must: func(s ledger.Summary) bool { return s.Requests.Succeeded == 40 }},
	"closed-loop":              {tolerance{0.12, 5}, "each round takes a little longer, and its end starts the next", nil},
	"closed-loop-of-processes": {tolerance{0.12, 5}, "as closed-loop", nil},
	"leave-behind":             {must: func(s ledger.Summary) bool { return s.Attempts.Canceled == 0 && s.Attempts.Late > 10 }},
	"take-along":               {must: func(s ledger.Summary) bool { return s.Attempts.Canceled > 100 }},
	"take-along-h2c":           {must: func(s ledger.Summary) bool { return s.Attempts.Canceled > 100 }},
	"resume":                   {tolerance{0.2, 5}, "a wait that is a little longer than a whole number of patiences is one resume more", func(s ledger.Summary) bool { return s.Resumes > 50 && s.Amplification == 1 }},
	"reissue":                  {must: func(s ledger.Summary) bool { return s.Resumes == 0 && s.Amplification > 2 }},
	"told":                     {must: func(s ledger.Summary) bool { return s.Attempts.Dropped["doomed"] > 50 }},
	"do-not-retry":             {must: func(s ledger.Summary) bool { return s.Amplification == 1 && s.Attempts.RefusedTotal > 100 }},
	"throttle":                 {tolerance{0.12, 8}, "what is sent depends on what was accepted before", func(s ledger.Summary) bool { return s.Requests.Throttled > 30 }},
	"breaker":                  {tolerance{0.2, 12}, "it opens and closes at instants that shift", func(s ledger.Summary) bool { return s.Requests.Throttled > 50 }},
	"priority":                 {must: func(s ledger.Summary) bool { return s.Classes["vip"].Attempts.RefusedTotal < 5 }},
	"bulkheads":                {must: func(s ledger.Summary) bool { return s.Classes["quick"].Requests.Succeeded == 100 }},
	"backend-bulkheads": {must: func(s ledger.Summary) bool {
		return s.Classes["quick"].Requests.Succeeded == 100 && s.Attempts.Failed > 30
	}},
	"aimd":          {tolerance{0.2, 10}, "it learns from latencies, which differ a little", nil},
	"gradient2":     {tolerance{0.2, 10}, "as aimd", nil},
	"vegas":         {tolerance{0.2, 10}, "as aimd", nil},
	"edf":           {tolerance{0.1, 8}, "overload makes edf serve those about to expire: a millisecond decides", nil},
	"infeasible":    {tolerance{0.1, 10}, "it lets in what will just be in time: a millisecond decides", nil},
	"adaptive-lifo": {tolerance{0.1, 8}, "it drops by sojourn, which a millisecond decides", nil},
	"fewer-workers": {tolerance{0.2, 5}, "the backlog is worked off at little more than the load, so that each millisecond of work counts twice", nil},
	"degrade":       {tolerance{0.15, 10}, "slower work makes work slower still", nil},
	"hang":          {must: func(s ledger.Summary) bool { return s.Classes["hanging"].Attempts.Late >= 2 }},
}

// essential are the variants that run where not everything is required: all of them take
// two minutes.
var essential = []string{
	"plain-overload", "closed-loop-of-processes", "take-along", "resume", "silent", "do-not-retry", "budget-of-processes",
	"priority", "backend-bulkheads", "hang", "degrade",
}

// TestLiveAndVirtualTimeAgree runs each behaviour on real processes and in virtual
// time, with the same arrivals, and compares.
func TestLiveAndVirtualTimeAgree(t *testing.T) {
	client.MoreProcs()
	text, err := os.ReadFile(filepath.Join("testdata", "parity.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load("parity.yaml", func(string) ([]byte, error) { return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range parities {
		if _, err := s.Select([]string{name}); err != nil {
			t.Error(err)
		}
	}
	for _, p := range plans {
		if !need.All() && !slices.Contains(essential, p.Variant) {
			continue
		}
		t.Run(p.Variant, func(t *testing.T) {
			t.Parallel()
			if err := agree(t, p); err != nil {
				t.Error(err)
			}
		})
	}
}

// agree compares up to three live runs with virtual time: a machine that was busy
// for a moment shows in one of them, a difference in all.
func agree(t *testing.T, p scenario.Plan) error {
	virtual, err := sim.Run(p)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		live := playLive(t, p)
		if !live.Generator.Delivered {
			err = fmt.Errorf("the load was not delivered: %d of %d sends missed", live.Generator.Missed, live.Generator.Sends)
			continue
		}
		if !live.Conservation.OK {
			return fmt.Errorf("the sums do not add up: %+v", live.Conservation)
		}
		if err = difference(p, live, virtual.Summary); err == nil {
			return nil
		}
	}
	return err
}

func difference(p scenario.Plan, live, virtual ledger.Summary) error {
	particular := parities[p.Variant]
	allowed := particular.tolerance
	if allowed == (tolerance{}) {
		allowed = usual
	}
	var wrong []string
	l, v := figures(live), figures(virtual)
	for _, name := range compared {
		if live.View == "client" && clientless[name] {
			continue
		}
		if !allowed.holds(l[name], v[name]) {
			wrong = append(wrong, fmt.Sprintf("%s: live %v, virtual time %v", name, l[name], v[name]))
		}
	}
	if particular.must != nil && !particular.must(live) {
		wrong = append(wrong, fmt.Sprintf("it does not show what it is there for: %+v, %+v, resumes %d", live.Requests, live.Attempts, live.Resumes))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// clientless are the figures that clients alone cannot know.
var clientless = map[string]bool{"attempts.late": true, "peak.queue": true}

// playLive runs p on real processes of its own. Clients with wait: plain know only
// a URL; theirs is that of an apiserver, asked as any client could.
func playLive(t *testing.T, p scenario.Plan) ledger.Summary {
	t.Helper()
	o := control.Options{Plan: p, Spawn: control.Spawner{Path: filepath.Join(bin, "loadgen")}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if p.Clients[0].Wait == scenario.WaitPlain {
		children, err := control.StartChildren(ctx, o.Spawn, p)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = children.Stop(ctx) }() // what it says is another test's concern
		o.Target = &control.Target{Public: children.Target().Public + "/v1/operations"}
		o.Plain = client.Plain{Method: http.MethodPost, Header: http.Header{"Prefer": {"wait=1"}}}
	}
	r, err := control.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Incident != nil {
		t.Fatal(r.Incident)
	}
	return r.Summary
}

// figures are the numbers of a summary, by their path in its JSON.
func figures(s ledger.Summary) map[string]float64 {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // summaries hold no value that JSON cannot say
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	out := map[string]float64{}
	flatten(out, "", tree)
	return out
}

func flatten(out map[string]float64, path string, value any) {
	switch v := value.(type) {
	case float64:
		out[path] = v
	case map[string]any:
		for key, sub := range v {
			flatten(out, strings.TrimPrefix(path+"."+key, "."), sub)
		}
	}
}
