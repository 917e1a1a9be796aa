package scenario

import (
	"strings"
	"testing"
	"time"

	"shedload/internal/retry"
)

func TestSet(t *testing.T) {
	s := mustLoad(t, small)
	for _, c := range []struct {
		set string
		got func(Plan) any
		is  any
	}{
		{"server.discipline=lifo", func(p Plan) any { return p.Server.Discipline.String() }, "lifo"},
		{"server.silent_drops=true", func(p Plan) any { return p.Server.SilentDrops }, true},
		{"backend.service_time=uniform:50ms,50.5ms", func(p Plan) any { return p.Backend.ServiceTime.String() }, "uniform:50ms,50.5ms"},
		{"server.door.kind=queue_limit", nil, "server.door: door queue_limit: needs a limit"},
		{"server.door={kind: queue_limit, limit: 60}", func(p Plan) any { return p.Server.Door.Limit }, 60},
		{"server.door=queue_limit:60", func(p Plan) any { return p.Server.Door.Limit }, 60},
		{"clients.0.rate=7", func(p Plan) any { return p.Clients[0].Arrivals.Rate }, 7.0},
		{"clients.users.rate=7", func(p Plan) any { return p.Clients[0].Arrivals.Rate }, 7.0},
		{"clients.users.retry.attempts=9", func(p Plan) any { return p.Clients[0].Retry.Attempts }, 9},
		{"clients.users.retry.on=[refusal]", func(p Plan) any { return p.Clients[0].Retry.On[0] }, retry.Refusal},
		{"clients.users.gates=[sre10]", func(p Plan) any { return p.Clients[0].Gates[0].Kind }, retry.SRE10},
		{"clients.robots.patience=1m30s", func(p Plan) any { return p.Clients[1].Patience }, 90 * time.Second},
		{"horizon=70s", func(p Plan) any { return p.Horizon }, 70 * time.Second},
		{"seed=18446744073709551615", func(p Plan) any { return uint64(p.Seed) }, uint64(1<<64 - 1)},
		{"end.queued=shed", func(p Plan) any { return p.End.Queued }, Shed},
		{"faults=[{at: 1s, for: 2s, factor: 3}]", func(p Plan) any { return p.Faults[0].Factor }, 3.0},

		{"server", nil, "--set server: is written path=value"},
		{"=1", nil, "is written path=value"},
		{"servr.discipline=lifo", nil, `--set servr.discipline=lifo: unknown path "servr": did you mean "server"? allowed are name, about,`},
		{"server.dropmargin=5ms", nil, `server: unknown path "dropmargin": did you mean "drop_margin"? allowed are discipline,`},
		{"server.drop_margin=55ms", nil, "server.drop_margin: has no effect: the discipline fifo"},
		{"server.drop_margin.x=55ms", nil, "server.drop_margin has nothing inside it"},
		{"clients.2.rate=7", nil, `clients: unknown path "2": allowed are users, robots, 0, 1`},
		{"clients.-1.rate=7", nil, `clients: unknown path "-1"`},
		{"clients.user.rate=7", nil, `clients: unknown path "user": did you mean "users"?`},
		{"clients.users.rate=fast", nil, `--set clients.users.rate=fast: clients[0].rate: is "fast": allowed is a finite number`},
		{"clients.users.rate=-1", nil, "--set clients.users.rate=-1: clients[0]: rate -1"},
		{"horizon=70", nil, "--set horizon=70: horizon: 70 has no unit"},
		{"horizon=", nil, "horizon: has no value"},
		{"variants.fifo.horizon=3s", nil, `unknown path "variants"`},
	} {
		plans, err := s.Plans([]string{"fifo"}, c.set)
		switch {
		case c.got == nil && (err == nil || !strings.Contains(err.Error(), c.is.(string))):
			t.Errorf("%s: got %v, want %v", c.set, err, c.is)
		case c.got != nil && err != nil:
			t.Errorf("%s: %v", c.set, err)
		case c.got != nil && c.got(plans[0]) != c.is:
			t.Errorf("%s: got %v", c.set, c.got(plans[0]))
		}
	}
}

func TestSetPhaseByName(t *testing.T) {
	s := mustLoad(t, small)
	p := plansOf(t, s, "phases=[{name: spike, at: 1s, for: 2s, rate: 9}]", "phases.spike.for=4s")["fifo"]
	if p.Phases[0].For != 4*time.Second || p.Phases[0].Rate != 9 {
		t.Errorf("got %+v", p.Phases)
	}
	// busy has no phases: the path exists in one variant and not in another.
	if _, err := s.Plans([]string{"busy"}, "phases.spike.for=4s"); err == nil {
		t.Error("a phase that does not exist was set")
	}
	// Overrides do not stay.
	if p := plansOf(t, s)["fifo"]; p.Phases[0].Rate != 400 {
		t.Errorf("got %+v", p.Phases)
	}
}

// A margin meets every variant that has a deadline shed, and is refused where it
// would do nothing.
func TestSetMargin(t *testing.T) {
	s := mustLoad(t, small)
	plans, err := s.Plans([]string{"deadline"}, "server.drop_margin=55ms")
	if err != nil || plans[0].Server.DropMargin.D != 55*time.Millisecond {
		t.Errorf("got %v, %v", plans, err)
	}
	if _, err := s.Plans([]string{"*"}, "server.drop_margin=55ms"); err == nil {
		t.Error("a margin without an effect was accepted")
	}
}
