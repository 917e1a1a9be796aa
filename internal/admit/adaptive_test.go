package admit

import (
	"testing"
	"time"

	"shedload/internal/arrival"
	"shedload/internal/draw"
	"shedload/internal/service"
	"shedload/internal/work"
)

var adaptiveDoors = []string{"aimd", "gradient2", "vegas"}

// server is four workers, first in first out, behind a door, in steps of a
// millisecond. Units that end late are dropped samples.
type server struct {
	door     Policy
	service  func(now work.Instant) service.Spec
	patience time.Duration
	queue    []work.Unit
	busy     []inService

	served, late, refused, peakInFlight int
	worst                               time.Duration // latency of a served unit
}

type inService struct {
	unit work.Unit
	end  work.Instant
}

const workers = 4

func (s *server) load() Load {
	return Load{Queued: len(s.queue), InService: len(s.busy), Workers: workers, Service: 50 * ms}
}

func (s *server) run(t *testing.T, rate float64, from, until time.Duration) {
	t.Helper()
	schedule, err := arrival.New(arrival.Spec{Kind: arrival.Poisson, Rate: rate, From: from, Until: until}, nil, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	next, more := schedule.Next()
	for now := at(from); now < at(until); now += at(ms) {
		s.finish(now)
		for ; more && next <= now; next, more = schedule.Next() {
			s.arrive(work.Unit{Request: uint64(next), Enqueued: now, Deadline: now.Add(s.patience)}, now)
		}
		for len(s.queue) > 0 && len(s.busy) < workers {
			u := s.queue[0]
			s.queue = s.queue[1:]
			took := s.service(now).Draw(draw.Seed(1).For(draw.Key{Request: u.Request}))
			s.busy = append(s.busy, inService{u, now.Add(took)})
		}
	}
}

func (s *server) arrive(u work.Unit, now work.Instant) {
	if v := s.door.Admit(u, s.load(), now); !v.Admitted() {
		s.refused++
		return
	}
	s.queue = append(s.queue, u)
	s.peakInFlight = max(s.peakInFlight, s.load().InFlight())
}

func (s *server) finish(now work.Instant) {
	left := s.busy[:0]
	for _, b := range s.busy {
		if b.end > now {
			left = append(left, b)
			continue
		}
		sample := Sample{Latency: now.Sub(b.unit.Enqueued), InFlight: s.load().InFlight()}
		s.served++
		s.worst = max(s.worst, sample.Latency)
		if now > b.unit.Deadline {
			sample.Outcome = Dropped
			s.late++
		}
		s.door.(Learner).Learn(sample, now)
	}
	s.busy = left
}

func always(d time.Duration) func(work.Instant) service.Spec {
	return func(work.Instant) service.Spec {
		return service.Spec{Kind: service.Uniform, A: d, B: d + 500*time.Microsecond}
	}
}

// At five times the capacity, for two minutes, no limit may follow its own queue:
// a baseline that is an average of everything would take the waiting for normal
// and let in ever more.
func TestALimiterWhoseBaselineDriftsWithTheOverload(t *testing.T) {
	for _, text := range adaptiveDoors {
		if text == "aimd" {
			text = "aimd:latency=250ms" // it has no baseline; told what is too slow
		}
		s := &server{door: door(t, text), service: always(50 * ms), patience: time.Second}
		s.run(t, 60, 0, 20*time.Second)
		early := 0
		for minute := range 4 {
			s.peakInFlight, s.worst, s.served, s.late = 0, 0, 0, 0
			from := 20*time.Second + time.Duration(minute)*30*time.Second
			s.run(t, 400, from, from+30*time.Second)
			if minute == 0 {
				early = s.peakInFlight
			}
			if s.peakInFlight > early+2 || s.peakInFlight > 24 || s.worst > 400*ms {
				t.Errorf("%s: after %s of overload up to %d are in flight (%d at first) and answers take up to %s", text, from, s.peakInFlight, early, s.worst)
			}
			// All workers stay busy: 80/s less a millisecond a unit.
			if s.served < 2300 || s.late > 0 {
				t.Errorf("%s: %d served in 30 s, %d late", text, s.served, s.late)
			}
		}
		t.Logf("%s: limit %d", text, s.door.(Limiter).Limit(0))
	}
}

// The floors of large installations make no sense here: behind four workers a
// floor of 20 is a queue of 16, for ever. The default floor is the workers.
func TestAFloorOf20InFrontOf4Workers(t *testing.T) {
	for _, kind := range adaptiveDoors {
		worst := map[string]time.Duration{}
		for _, floor := range []string{":floor=20", ""} {
			s := &server{door: door(t, kind+floor), service: always(50 * ms), patience: 150 * ms}
			s.run(t, 200, 0, 30*time.Second)
			// Every unit fails its patience of 150 ms: the limit goes to its floor.
			s.late, s.served, s.worst = 0, 0, 0
			s.run(t, 200, 30*time.Second, 60*time.Second)
			worst[floor] = s.worst
			if limit := s.door.(Limiter).Limit(0); floor == "" && limit > 2*workers+4 {
				t.Errorf("%s: limit %d", kind, limit)
			}
			if floor == "" && s.served < 2200 {
				t.Errorf("%s: the workers idle: %d served", kind, s.served)
			}
		}
		if worst[":floor=20"] < 240*ms || worst[""] > 200*ms {
			t.Errorf("%s: with a floor of 20 answers take up to %s, without %s", kind, worst[":floor=20"], worst[""])
		}
	}
}

// Whatever a limiter learns, it can start anew: when the service becomes three
// times slower for good, and fast again, the workers are kept busy.
func TestALimiterFollowsTheService(t *testing.T) {
	for _, text := range adaptiveDoors {
		s := &server{door: door(t, text), patience: time.Second, service: func(now work.Instant) service.Spec {
			if now >= at(60*time.Second) && now < at(120*time.Second) {
				return always(150 * ms)(now)
			}
			return always(50 * ms)(now)
		}}
		for _, c := range []struct {
			from, until time.Duration
			least       int
		}{
			{0, 60 * time.Second, 60 * 76},
			{60 * time.Second, 120 * time.Second, 60 * 25},
			{120 * time.Second, 180 * time.Second, 60 * 75},
		} {
			s.served = 0
			s.run(t, 120, c.from, c.until)
			if s.served < c.least {
				t.Errorf("%s: %d served from %s to %s, want at least %d", text, s.served, c.from, c.until, c.least)
			}
		}
	}
}

// A start in the middle of an overload, behind a backlog and with a limit far too
// high, teaches no limiter that long waits are normal: it shrinks until it finds
// out what an answer takes without them.
func TestStartsInOverload(t *testing.T) {
	for _, c := range []struct {
		door Policy
		base func(p Policy) baseline
	}{
		{door(t, "gradient2:60"), func(p Policy) baseline { return p.(*gradient2).base }},
		{door(t, "vegas:60"), func(p Policy) baseline { return p.(*vegas).base }},
	} {
		s := &server{door: c.door, service: always(50 * ms), patience: 10 * time.Second}
		for range 59 {
			s.queue = append(s.queue, work.Unit{Deadline: at(10 * time.Second)})
		}
		s.run(t, 400, 0, 30*time.Second)
		if limit := s.door.(Limiter).Limit(0); limit > 12 {
			t.Errorf("%T: limit %d after 30 s", c.door, limit)
		}
		if mean := time.Duration(c.base(s.door).mean); mean < 50*ms || mean > 53*ms {
			t.Errorf("%T: takes %s for an answer without waiting", c.door, mean)
		}
	}
}

// A sample that says nothing changes nothing; the wrong reading would take a fast
// failure for a fast server.
func TestIgnoredSamplesChangeNothing(t *testing.T) {
	for _, text := range adaptiveDoors {
		p := door(t, text+":20")
		p.Admit(work.Unit{}, Load{Workers: workers}, 0)
		for i := range 1000 {
			p.(Learner).Learn(Sample{Latency: 1, InFlight: 20, Outcome: Ignored}, at(time.Duration(i)*ms))
		}
		if limit := p.(Limiter).Limit(0); limit != 20 {
			t.Errorf("%s: limit %d, want 20", text, limit)
		}
	}
}

// Growing from 20 to 21 takes 20 good answers; one drop halves the limit, and the
// others of the same overload leave it there.
func TestGrowsSlowlyShrinksSharply(t *testing.T) {
	p := door(t, "aimd:20")
	learn := func(outcome SampleOutcome, now time.Duration) int {
		p.(Learner).Learn(Sample{Latency: 100 * ms, InFlight: 20, Outcome: outcome}, at(now))
		return p.(Limiter).Limit(0)
	}
	p.Admit(work.Unit{}, Load{Workers: workers}, 0)
	for i := range 20 {
		if limit := learn(OK, 100*ms); limit != 20 {
			t.Fatalf("after %d good answers: limit %d", i+1, limit)
		}
	}
	if limit := learn(OK, 100*ms); limit != 21 {
		t.Errorf("after 21 good answers: limit %d", limit)
	}
	for _, c := range []struct {
		now  time.Duration
		want int
	}{
		{time.Second, 10},
		{1050 * ms, 10}, // was there before the cut
		{1100*ms - 1, 10},
		{1100 * ms, 5}, // arrived at the cut or after it
		{1300 * ms, 4}, // the floor: four workers
		{1500 * ms, 4},
	} {
		if limit := learn(Dropped, c.now); limit != c.want {
			t.Errorf("drop at %s: limit %d, want %d", c.now, limit, c.want)
		}
	}
	// A limit that nobody needs does not grow.
	for range 1000 {
		p.(Learner).Learn(Sample{Latency: ms, InFlight: 1}, at(2*time.Second))
	}
	if limit := p.(Limiter).Limit(0); limit != 4 {
		t.Errorf("unused, the limit grew to %d", limit)
	}
}

// One round of answers, held against a baseline of 50 ms: unhindered ones raise the
// limit a little, ones ten times as long take most of what is too much at once.
func TestOneRound(t *testing.T) {
	for _, c := range []struct {
		door    string
		latency time.Duration
		want    int
	}{
		{"gradient2:40", 50 * ms, 41},  // + 0.2·√40
		{"gradient2:40", 500 * ms, 26}, // × 0.5 + √40
		{"gradient2:40", 100 * ms, 36}, // × 0.75 + √40
		{"vegas:40", 50 * ms, 41},      // + log10 40
		{"vegas:40", 60 * ms, 40},      // 6.7 waiting, between alpha and beta
		{"vegas:40", 500 * ms, 12},     // 36 waiting, beta is 9.6: − 26.4 − log10 40
	} {
		p := door(t, c.door)
		p.Admit(work.Unit{}, Load{Workers: workers}, 0)
		p.(Learner).Learn(Sample{Latency: 50 * ms, InFlight: 1}, at(50*ms))
		p.Admit(work.Unit{}, Load{InService: workers, Workers: workers}, at(60*ms))
		for range 39 {
			p.(Learner).Learn(Sample{Latency: c.latency, InFlight: 40}, at(time.Second))
		}
		if got := p.(Limiter).Limit(0); got != c.want {
			t.Errorf("%s after a round of %s: limit %d, want %d", c.door, c.latency, got, c.want)
		}
	}
}
