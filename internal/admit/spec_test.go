package admit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"shedload/internal/work"
)

const ms = time.Millisecond

var shop = []work.Class{
	{Name: "checkout", Criticality: work.Critical, Compartment: "orders"},
	{Name: "browse", Criticality: work.Sheddable},
	{Name: "report", Criticality: work.Sheddable, Compartment: "reports"},
}

func TestParseSpec(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		want            Spec
	}{
		{"open", "open", Spec{}},
		{"queue_limit:60", "queue_limit:60", Spec{Kind: QueueLimit, Limit: 60}},
		{"in_system:limit=20", "in_system:20", Spec{Kind: InSystem, Limit: 20}},
		{"concurrency:4,wait=10ms", "concurrency:4,wait=10ms", Spec{Kind: Concurrency, Limit: 4, Wait: 10 * ms}},
		{"priority:40,browse=20", "priority:40,browse=20", Spec{Kind: Priority, Limit: 40, PerClass: map[string]float64{"browse": 20}}},
		{"priority:5,sheddable=0.6,count=in_system", "priority:5,count=in_system,sheddable=0.6", Spec{Kind: Priority, Limit: 5, Count: "in_system", PerClass: map[string]float64{"sheddable": 0.6}}},
		{"bulkheads:2,wait=100ms,reports=1", "bulkheads:2,wait=100ms,reports=1", Spec{Kind: Bulkheads, Limit: 2, Wait: 100 * ms, PerClass: map[string]float64{"reports": 1}}},
		{"infeasible", "infeasible", Spec{Kind: Infeasible}},
		{"aimd:8,latency=200ms", "aimd:8,latency=200ms", Spec{Kind: AIMD, Limit: 8, Latency: 200 * ms}},
		{"gradient2", "gradient2", Spec{Kind: Gradient2}},
		{"vegas:8,ceiling=200,floor=4", "vegas:8,floor=4,ceiling=200", Spec{Kind: Vegas, Limit: 8, Floor: 4, Ceiling: 200}},
		{"queue_limit:100000000+infeasible", "queue_limit:100000000+infeasible", Spec{Kind: QueueLimit, Limit: MaxLimit, And: []Spec{{Kind: Infeasible}}}},
	} {
		got, err := ParseSpec(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) || got.String() != c.canonical {
			t.Errorf("%q is %+v (%s), %v; want %+v (%s)", c.text, got, got, err, c.want, c.canonical)
			continue
		}
		if p, err := got.New(shop); err != nil || p == nil {
			t.Errorf("%q makes %v, %v", c.text, p, err)
		}
		encoded, err := json.Marshal(got)
		var again Spec
		if err != nil || json.Unmarshal(encoded, &again) != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q is %s in JSON and reads as %+v, %v", c.text, encoded, again, err)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                                  `unknown door "": allowed are open, queue_limit, in_system`,
		"closed":                            `unknown door "closed"`,
		"open:5":                            "has no setting limit",
		"queue_limit":                       "needs a limit",
		"queue_limit:":                      `limit "": is not a whole number from 1 to 100000000`,
		"queue_limit:0":                     `limit "0": is not a whole number`,
		"queue_limit:-3":                    `limit "-3": is not a whole number`,
		"queue_limit:1.5":                   `limit "1.5": is not a whole number`,
		"queue_limit:100000001":             "is not a whole number from 1 to 100000000",
		"queue_limit:5,wait=1s":             "has no setting wait",
		"concurrency:4,wait=10":             `wait "10": is not a duration above 0s`,
		"concurrency:4,wait=-1s":            `wait "-1s": is not a duration above 0s`,
		"concurrency:4,wait=2h":             "at most 1h0m0s",
		"concurrency:4,10ms":                `"10ms" is not a setting such as wait=10ms`,
		"concurrency:4,waits=10ms":          "unknown setting: allowed are limit, wait",
		"priority:5,browse=x":               `browse "x": is not a number`,
		"priority:5,browse=1.5":             "neither a share above 0 and below 1 nor a whole number",
		"priority:5,browse=NaN":             "neither a share",
		"priority:5,browse=1,browse=2":      "is given twice",
		"priority:5,=2":                     `"" cannot be the name`,
		"priority:5,a:b=2":                  `"a:b" cannot be the name`,
		"priority:5,count=all":              `count "all": allowed are queue and in_system`,
		"aimd:3,floor=4":                    "limit 3 is below the floor 4",
		"aimd:9,ceiling=8":                  "limit 9 is above the ceiling 8",
		"vegas:floor=9,ceiling=8":           "floor 9 is above the ceiling 8",
		"open+":                             `unknown door ""`,
		strings.Repeat("open+", 8) + "open": "9 doors, at most 8 are allowed",
	} {
		if s, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %+v, %v; want it to say %q", text, s, err, says)
		}
	}
}

func TestValidateNames(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"priority:40,checkout=20,critical=30", ""},
		{"priority:40,orders=20", `door priority: unknown class or criticality "orders": allowed are checkout, browse, report, critical_plus`},
		{"bulkheads:2,orders=1", ""},
		{"bulkheads:2,checkout=1", `door bulkheads: unknown compartment "checkout": allowed are orders, reports`},
		{"open+bulkheads:2,x=1", `unknown compartment "x"`},
	} {
		s, err := ParseSpec(c.text)
		if err != nil {
			t.Fatal(err)
		}
		switch err := s.Validate(shop); {
		case c.says == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%q: %v; want %q", c.text, err, c.says)
		}
	}
	nested := Spec{And: []Spec{{And: []Spec{{}}}}}
	if _, err := nested.New(shop); err == nil || !strings.Contains(err.Error(), "list them all in the first") {
		t.Errorf("doors behind doors behind doors: %v", err)
	}
	for _, s := range []Spec{{Kind: QueueLimit, Limit: -1}, {Kind: numKinds}, {Kind: Concurrency, Limit: 1, Wait: -1}, {Kind: AIMD, Latency: -1}, {Kind: AIMD, Floor: -1}} {
		if err := s.Validate(shop); err == nil {
			t.Errorf("%+v is valid", s)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		"open", "queue_limit:60", "concurrency:4,wait=10ms", "priority:40,other=20,count=queue", "bulkheads:2,slow=0.5",
		"aimd:8,floor=4,ceiling=20,latency=1s", "queue_limit:60+infeasible", "priority:5,a=1e2", ":", "open+", "priority:5,limit=6",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			return
		}
		if again, err := ParseSpec(s.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%q is written %q and read as %+v, %v", text, s, again, err)
		}
	})
}

func TestScaled(t *testing.T) {
	s, err := ParseSpec("concurrency:4,wait=10ms+aimd:latency=200ms")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Scaled(3).String(); got != "concurrency:4,wait=30ms+aimd:latency=600ms" {
		t.Errorf("scaled by 3 it is %s", got)
	}
	if s.And[0].Latency != 200*ms {
		t.Error("the original was scaled too")
	}
}
