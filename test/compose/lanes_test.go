package compose

import (
	"math"
	"net/url"
	"testing"
	"time"

	"shedload/test/need"
)

// TestLanes brings up the profile compare with a small load. The same arrivals go into all four
// lanes, and their queue alone decides which of them a spike brings down.
func TestLanes(t *testing.T) {
	need.Long(t, 4*time.Minute)
	s := newStack(t)
	var services []string
	// A margin of 0 may go either way with so few requests: there is often time enough between a dead
	// one and the next. With the lanes' own load it collapses, see deploy/lanes.yaml.
	ends := map[string]float64{"fifo": collapsed, "lifo": healthy, "deadline-70": healthy}
	for _, lane := range []string{"fifo", "lifo", "deadline-0", "deadline-70"} {
		services = append(services, "apiserver-"+lane, "backend-"+lane)
	}
	s.up(append(services, "loadgen-compare")...)

	s.await("every lane to be scraped", `count(up{job="lanes"} == 1)`, is(9))
	s.await("baseline goodput in all lanes", `min(run:shedload_goodput:rate5s)`, atLeast(7))
	s.do("exec", "-T", "loadgen-compare", "loadgen", "spike", "--rate", "24", "--for", "4s")
	s.await("the spike in all lanes", `count(shedload_phase{phase="spike"} == 1)`, is(4))
	s.await("the end of the spike", `sum(shedload_phase{phase="spike"})`, is(0))
	for lane, end := range ends {
		s.await(lane+" to be what its queue makes it", `run:shedload_state:code{run="`+lane+`"}`, is(end))
	}
	s.await("lanes that differ by all of what is asked for", `min(run:shedload_goodput:rate5s{run=~"lifo|deadline-70"}) - max(run:shedload_goodput:rate5s{run="fifo"})`, atLeast(6))
	if found, err := s.api("query", url.Values{"query": {`sum by (run) (shedload_client_requests_total)`}}); err != nil || len(found) != 4 {
		t.Errorf("got requests of %d lanes (%v)", len(found), err)
	} else {
		for _, lane := range found {
			// A scrape reads one lane after the other, and a request may come in between.
			if math.Abs(lane.values[0]-found[0].values[0]) > 1 {
				t.Errorf("got %v requests in %s and %v in %s, want the same", lane.values[0], lane.labels["run"], found[0].values[0], found[0].labels["run"])
			}
		}
	}
	s.logsAreClean()
}
