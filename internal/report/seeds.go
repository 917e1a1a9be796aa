package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"shedload/internal/ledger"
)

// Seeds says how a run comes out over several seeds.
type Seeds struct {
	First uint64 `json:"first"` // the others follow it
	Count int    `json:"count"`
	// CollapsedShare and UsersCollapsedShare are the parts of the seeds whose
	// verdict is collapsed.
	CollapsedShare      float64           `json:"collapsed_share"`
	UsersCollapsedShare float64           `json:"users_collapsed_share"`
	Verdicts            map[string]int    `json:"verdicts"`
	Figures             map[string]Spread `json:"figures"`
}

// Spread is a figure over several seeds.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// figures are those of which the spread over seeds is told.
var figures = []struct {
	name  string
	value func(s *ledger.Summary) float64
}{
	{"attempts", func(s *ledger.Summary) float64 { return float64(s.Attempts.Total) }},
	{"throughput", func(s *ledger.Summary) float64 { return float64(s.Throughput) }},
	{"goodput", func(s *ledger.Summary) float64 { return float64(s.Goodput) }},
	{"goodput_client", func(s *ledger.Summary) float64 { return float64(s.GoodputClient) }},
	{"goodput_share", func(s *ledger.Summary) float64 { return s.GoodputShare }},
	{"gave_up", func(s *ledger.Summary) float64 { return float64(s.Requests.GaveUp) }},
	{"peak_queue", func(s *ledger.Summary) float64 { return float64(s.Peak.Queue) }},
	{"peak_offered_per_s", func(s *ledger.Summary) float64 { return float64(s.Peak.OfferedPerS) }},
	{"amplification", func(s *ledger.Summary) float64 { return s.Amplification }},
	{"wasted_share", func(s *ledger.Summary) float64 { return s.WastedShare }},
}

// SeedsOf sums up the runs of consecutive seeds, the first of which is first.
// There must be at least one.
func SeedsOf(first uint64, runs []ledger.Summary) *Seeds {
	s := &Seeds{First: first, Count: len(runs), Verdicts: map[string]int{}, Figures: map[string]Spread{}}
	users := 0
	for i := range runs {
		s.Verdicts[runs[i].Recovery.Verdict]++
		if runs[i].Recovery.UsersVerdict == ledger.Collapsed {
			users++
		}
	}
	s.CollapsedShare = float64(s.Verdicts[ledger.Collapsed]) / float64(len(runs))
	s.UsersCollapsedShare = float64(users) / float64(len(runs))
	for _, f := range figures {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = f.value(&runs[i])
		}
		slices.Sort(values)
		n := len(values)
		s.Figures[f.name] = Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1]}
	}
	return s
}

// WriteSeeds writes medians and ranges of the variants that have several seeds,
// one variant a row.
func WriteSeeds(w io.Writer, vs []Variant, _ Style) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	shown := []string{"throughput", "goodput", "goodput_share", "peak_queue", "amplification"}
	head := table.Row{title(vs), "seeds"}
	for _, name := range shown {
		head = append(head, name)
	}
	t.AppendHeader(append(head, "stay collapsed", "users"))
	configs := []table.ColumnConfig{}
	for i := range len(shown) + 3 {
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for _, v := range vs {
		if v.Seeds == nil {
			continue
		}
		row := table.Row{v.Heading(), v.Seeds.Count}
		for _, name := range shown {
			row = append(row, v.Seeds.Figures[name].say(strings.HasSuffix(name, "_share")))
		}
		t.AppendRow(append(row, percent(v.Seeds.CollapsedShare), percent(v.Seeds.UsersCollapsedShare)))
	}
	_, err := fmt.Fprintf(w, "median (min – max)\n%s\n", t.Render())
	return err
}

// say writes median (min – max), of shares in per cent.
func (s Spread) say(share bool) string {
	say := figure
	if share {
		say = percent
	}
	return fmt.Sprintf("%s (%s – %s)", say(s.Median), say(s.Min), say(s.Max))
}
