package scenario

import "shedload/internal/ledger"

// Meta returns what a summary of the whole run has to know of the plan.
func (p Plan) Meta(engine string) ledger.Meta {
	return ledger.Meta{
		Scenario: p.Scenario, Variant: p.Variant, Engine: engine,
		Horizon: p.Horizon, Warmup: p.Warmup, Verdict: p.Recovery,
	}
}
