package scenario

import (
	"reflect"
	"strings"
	"testing"

	"shedload/internal/queue"
)

const axes = `name: axes
horizon: 10s
clients: [{name: users, arrivals: even, rate: 50, patience: 500ms}]
variants:
  server-lifo: {server: {discipline: lifo}}
  clients-many: {clients: {users: {rate: 70, retry: {attempts: 3, on: [timeout]}}}}
  clients-few: {clients: {users: {rate: 20}}}
expect:
  "*": ["conservation.ok"]
  server-lifo: ["goodput_share == 1"]
`

func loadAxes(t *testing.T) *Scenario {
	t.Helper()
	s, err := Load("axes.yaml", func(string) ([]byte, error) { return []byte(axes), nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCombineLaysVariantsOverEachOther(t *testing.T) {
	s := loadAxes(t)
	p, err := s.Combine([]string{"server-lifo", "clients-many", "clients-few"}, "seed=7")
	if err != nil {
		t.Fatal(err)
	}
	lifo, _ := queue.ParseDiscipline("lifo")
	c := p.Clients[0]
	if p.Variant != "server-lifo+clients-many+clients-few" || p.Server.Discipline != lifo || c.Arrivals.Rate != 20 || c.Retry.Attempts != 3 || p.Seed != 7 {
		t.Errorf("got %s: %s, rate %v, %d attempts, seed %d", p.Variant, p.Server.Discipline, c.Arrivals.Rate, c.Retry.Attempts, p.Seed)
	}
	// What one variant alone must meet does not hold for it with others.
	if got := p.Expectations("sim"); !reflect.DeepEqual(got, []string{"conservation.ok"}) {
		t.Errorf("expectations %q", got)
	}
	// One variant, combined with nothing, is itself.
	one, err := s.Combine([]string{"clients-few"})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans([]string{"clients-few"})
	if err != nil {
		t.Fatal(err)
	}
	if string(one.Document()) != string(plans[0].Document()) {
		t.Errorf("got\n%s, want\n%s", one.Document(), plans[0].Document())
	}
}

func TestCombineNamesWhatIsWrong(t *testing.T) {
	s := loadAxes(t)
	for _, c := range []struct {
		variants, sets []string
		want           string
	}{
		{[]string{"server-lif"}, nil, `unknown variant "server-lif"`},
		{[]string{"server-lifo"}, []string{"server.disciplin=fifo"}, "disciplin"},
		{[]string{"server-lifo"}, []string{"seed"}, "path=value"},
	} {
		if _, err := s.Combine(c.variants, c.sets...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c, err, c.want)
		}
	}
}
