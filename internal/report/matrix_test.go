package report

import (
	"strings"
	"testing"

	"shedload/internal/ledger"
)

func TestGrid(t *testing.T) {
	run := func(verdict string, after float64, succeeded int64) *ledger.Summary {
		s := &ledger.Summary{Requests: ledger.Requests{Total: 200, Succeeded: succeeded}}
		s.Recovery.Verdict, s.Recovery.GoodputAfterS = verdict, &after
		return s
	}
	g := Grid{RowAxes: []string{"trigger", "clients"}, Columns: []string{"fifo", "lifo"}, Rows: []GridRow{
		{[]string{"spike", "one"}, []*ledger.Summary{run(ledger.Collapsed, 0, 50), run(ledger.Steady, 0, 200)}},
		{[]string{"spike", "two"}, []*ledger.Summary{run(ledger.Degraded, 0, 0), run(ledger.Recovered, 12, 199)}},
		{[]string{"loss", "one"}, []*ledger.Summary{run(ledger.Undecided, 0, 100), {}}},
	}}
	var plain, colored strings.Builder
	if err := WriteGrid(&plain, g, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"│ trigger │ clients     │            fifo │", "│ spike   │ one         │ collapsed  25 % │         steady 100 % │", "│         │ two ",
		"recovered 12 s 100 % │", "undecided  50 %", "│ stayed down │          2 of 3 │               0 of 3 │",
	} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("no %q in\n%s", want, plain.String())
		}
	}
	if err := WriteGrid(&colored, g, Style{Color: true}); err != nil || !strings.Contains(colored.String(), "\x1b[31mcollapsed") {
		t.Errorf("no colour: %v\n%s", err, colored.String())
	}
}
