package sim

import "testing"

// TestCapacityShareLeavesWorkersIdle: a queue in front of workers that a fault
// forbids to start must not keep the loop at one instant for ever.
func TestCapacityShareLeavesWorkersIdle(t *testing.T) {
	for _, p := range plans(t, "metastable-overload", "live-no-retries") {
		r, err := Run(p)
		if err != nil {
			t.Fatal(err)
		}
		share := float64(p.Faults[0].CapacityShare)
		for _, row := range r.Ledger.Rows(0) {
			from, to := p.Faults[0].At.Seconds(), (p.Faults[0].At + p.Faults[0].For).Seconds()
			if float64(row.T) <= from || float64(row.T) >= to {
				continue
			}
			if want := int64(share * float64(p.Backend.Workers)); row.InService != want {
				t.Errorf("second %d: %d in service, want %d", row.T, row.InService, want)
			}
		}
	}
}
