package control

import (
	"time"

	"shedload/internal/boot"
	"shedload/internal/client"
	"shedload/internal/ledger"
	"shedload/internal/queue"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// generatorConfig is what a generator needs to play the plan's clients.
func generatorConfig(p scenario.Plan, target string, plain client.Plain, record func(ledger.Event)) client.Config {
	c := client.Config{
		Target: target, Phases: p.Phases, Classes: p.WorkClasses(), Seed: p.Seed, Horizon: p.Horizon,
		MaxConns: boot.ConnsAllowed(client.MaxConns), Record: record,
	}
	for i, k := range p.Clients {
		c.Groups = append(c.Groups, client.Group{
			Population: p.Population(i), Arrivals: k.Arrivals, Wait: k.Wait, Protocol: k.Protocol,
			Processes: k.Processes, Plain: plain, ClassOf: classOf(p, i),
		})
	}
	return c
}

// classOf gives the class of a client's request by its number.
func classOf(p scenario.Plan, i int) func(uint64) uint8 {
	if len(p.Classes) < 2 {
		return nil
	}
	const lower = 1<<48 - 1 // see population.RequestID
	return func(request uint64) uint8 { return p.ClassOf(i, request&lower) }
}

func horizon(p scenario.Plan) work.Instant { return work.Instant(p.Horizon) }

// phaseAt names what changes load or capacity in the second before t.
func phaseAt(p scenario.Plan, t time.Duration) string {
	for _, x := range p.Phases {
		if x.At < t && t <= x.At+x.For {
			return x.Name
		}
	}
	for _, x := range p.Faults {
		if x.At < t && t <= x.At+x.For {
			return "fault"
		}
	}
	return ""
}

// policyOf is the plan's server as PUT /v1/policy takes it.
func policyOf(p scenario.Plan) map[string]any {
	s := p.Server
	policy := map[string]any{
		"discipline": s.Discipline, "codel_target": s.CodelTarget.String(), "codel_interval": s.CodelInterval.String(),
		"door": s.Door, "silent_drops": s.SilentDrops, "cancel_abandoned": s.CancelAbandoned,
		"retry_after": s.RetryAfter.String(), "do_not_retry": s.DoNotRetry,
	}
	if s.DropMargin != nil {
		policy["drop_margin"] = s.DropMargin
	}
	return policy
}

// restorable makes of the policy that a server shows one that can be set: where no
// shed has a margin, the margin shown is none that anybody asked for.
func restorable(shown map[string]any) map[string]any {
	text, _ := shown["discipline"].(string) // anything else has no deadline shed either
	if d, err := queue.ParseDiscipline(text); err != nil || !d.HasDeadline() {
		delete(shown, "drop_margin")
	}
	return shown
}
