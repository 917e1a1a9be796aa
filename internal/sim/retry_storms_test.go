package sim

import (
	"fmt"
	"strings"
	"testing"

	"shedload/internal/ledger"
)

// row is a line of a published table: how it calls a variant.
type row struct{ title, variant string }

// TestRetryStormsTables: all 102 published numbers.
func TestRetryStormsTables(t *testing.T) {
	p := runAll(t, "retry-storms")
	var b strings.Builder
	head := func(columns ...string) {
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	}
	windows := []string{"0–999", "1000–1999", "2000–3999", "4000–7999", "tries/req"}
	parts := func(title string, rows ...row) {
		head(append([]string{title}, windows...)...)
		for _, r := range rows {
			s := p.of(t, r.variant)
			fmt.Fprintf(&b, "| %s |", r.title)
			for _, w := range s.Windows {
				fmt.Fprintf(&b, " %s |", percent(w.Succeeded, w.Requests))
			}
			fmt.Fprintf(&b, " %.2f |\n", s.Windows[1].TriesPerRequest)
		}
		b.WriteString("\n")
	}
	parts("part 1, no trigger", row{"no shedding", "healthy-unshed"}, row{"bounded queue", "healthy-bounded"},
		row{"bounded + drop expired", "healthy-bounded-expired"}, row{"priority + drop expired", "healthy-priority"})
	parts("part 2 and 3: server / callers",
		row{"no shedding / 3 retries", "unshed"}, row{"bounded queue / 3 retries", "bounded"},
		row{"bounded + drop expired / 3 retries", "bounded-expired"}, row{"priority + drop expired / 3 retries", "priority"},
		row{"no shedding / no retries", "unshed-no-retries"}, row{"no shedding / 3 retries, 10 % budget", "unshed-budget"},
		row{"bounded + drop expired / no retries", "bounded-expired-no-retries"},
		row{"bounded + drop expired / 3 retries, 10 % budget", "bounded-expired-budget"})
	head("part 4 (3 retries)", "attempts", "refused", "dropped", "on time", "too late", "wasted", "maxQ")
	for _, r := range []row{{"no shedding", "unshed"}, {"bounded queue", "bounded"}, {"bounded + drop expired", "bounded-expired"}, {"priority + drop expired", "priority"}} {
		s := p.of(t, r.variant)
		a := s.Attempts
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %.0f ms | %d |\n",
			r.title, a.Total, a.RefusedTotal, a.DroppedTotal, a.OnTime, a.Late, s.WastedWorkS*1000, s.Peak.Queue)
	}
	b.WriteString("\n")
	head("part 5 (150 ms trigger, no retries; requests started in 1000–1999)", "critical", "other")
	for _, r := range []row{{"bounded + drop expired", "slow-bounded-expired"}, {"priority + drop expired", "slow-priority"}} {
		c := p.of(t, r.variant).Windows[1].Classes
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.title,
			percent(c["critical"].Succeeded, c["critical"].Requests), percent(c["other"].Succeeded, c["other"].Requests))
	}
	golden(t, "retry-storms.md", b.String())
}

// The article's lessons, one test each.

func TestSheddingCostsAHealthySystemNothing(t *testing.T) {
	p := runAll(t, "retry-storms")
	for _, variant := range []string{"healthy-bounded", "healthy-bounded-expired", "healthy-priority"} {
		unshed, shed := p.of(t, "healthy-unshed"), p.of(t, variant)
		unshed.Variant, shed.Variant = "", ""
		if got, want := fmt.Sprint(shed), fmt.Sprint(unshed); got != want {
			t.Errorf("%s differs from no shedding:\n%s\n%s", variant, got, want)
		}
	}
}

func TestWithoutSheddingAndWithRetriesASlowSecondNeverEnds(t *testing.T) {
	s := runAll(t, "retry-storms").of(t, "unshed")
	last := s.Windows[3]
	if s.Recovery.Verdict != ledger.Collapsed || last.Succeeded != 0 {
		t.Errorf("%s, with %d of the last %d requests served", s.Recovery.Verdict, last.Succeeded, last.Requests)
	}
}

func TestTheLoopNeedsBothHalves(t *testing.T) {
	p := runAll(t, "retry-storms")
	for _, variant := range []string{"unshed-no-retries", "bounded", "bounded-expired"} { // no retries, or no stale queue
		s := p.of(t, variant)
		if last := s.Windows[3]; last.Succeeded != last.Requests || s.Recovery.Verdict != ledger.Recovered {
			t.Errorf("%s: %s, %d of the last %d served", variant, s.Recovery.Verdict, last.Succeeded, last.Requests)
		}
	}
}

func TestAFastRefusalMakesRetriesUseful(t *testing.T) {
	p := runAll(t, "retry-storms")
	during := func(variant string) int64 { return p.of(t, variant).Windows[1].Succeeded }
	if with, without := during("bounded-expired"), during("bounded-expired-no-retries"); with != 100 || without > 60 {
		t.Errorf("with a bounded queue %d of 100 are served with retries, %d without", with, without)
	}
	// Without a refusal the retries gain little in the slow second and cost all after it.
	if with, without := during("unshed"), during("unshed-no-retries"); with > without+10 {
		t.Errorf("without shedding %d of 100 are served with retries, %d without", with, without)
	}
	if after := p.of(t, "unshed").Windows[2]; after.Succeeded*50 > after.Requests {
		t.Errorf("without shedding %d of %d are served after it", after.Succeeded, after.Requests)
	}
}

func TestPriorityLiftsTheCriticalAtTheCostOfTheOthers(t *testing.T) {
	p := runAll(t, "retry-storms")
	plain, priority := p.of(t, "slow-bounded-expired").Windows[1].Classes, p.of(t, "slow-priority").Windows[1].Classes
	if priority["critical"].Succeeded <= plain["critical"].Succeeded || priority["other"].Succeeded >= plain["other"].Succeeded {
		t.Errorf("served: critical %d → %d, other %d → %d", plain["critical"].Succeeded, priority["critical"].Succeeded,
			plain["other"].Succeeded, priority["other"].Succeeded)
	}
}

func TestRetryStormsVerdicts(t *testing.T) {
	p := runAll(t, "retry-storms")
	for variant, want := range map[string]string{
		"healthy-unshed": ledger.Steady, "healthy-priority": ledger.Steady, "unshed": ledger.Collapsed,
		"bounded": ledger.Recovered, "priority": ledger.Recovered, "unshed-no-retries": ledger.Recovered,
		"unshed-budget": ledger.Recovered, "bounded-expired-budget": ledger.Recovered, "slow-priority": ledger.Recovered,
	} {
		if got := p.of(t, variant).Recovery; got.Verdict != want || got.UsersVerdict != want {
			t.Errorf("%s: %s, users %s; want %s", variant, got.Verdict, got.UsersVerdict, want)
		}
	}
}
