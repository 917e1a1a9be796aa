package service

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestBulkheadsTextForm(t *testing.T) {
	for text, want := range map[string]Bulkheads{
		"a=2":         {"a": 2},
		"pay=4, a=1":  {"pay": 4, "a": 1},
		"no-such=100": {"no-such": 100},
	} {
		var b Bulkheads
		if err := b.UnmarshalText([]byte(text)); err != nil || !reflect.DeepEqual(b, want) {
			t.Errorf("%q: %v, %v; want %v", text, b, err, want)
		}
	}
	if got := (Bulkheads{"pay": 4, "a": 1}).String(); got != "a=1,pay=4" {
		t.Errorf("got %s", got)
	}
	for _, text := range []string{"", "a", "a=", "a=x", "=2", "a=1,a=2", "a=1,"} {
		if err := new(Bulkheads).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is allowed", text)
		}
	}
}

func TestWrongBulkheads(t *testing.T) {
	base := Config{ServiceTime: Spec{A: 1}, Classes: []string{"x", "y"}, Compartments: []string{"slow", ""}}
	for _, b := range []Bulkheads{{"slow": 0}, {"slow": -1}, {"fast": 2}} {
		c := base
		c.Bulkheads = b
		if _, err := New(c); err == nil {
			t.Errorf("%v is allowed", b)
		}
	}
}

// TestBulkheadsKeepTheirBounds lets classes come and go at random: no compartment
// ever has more than its workers, others are not held back, and all that was given
// can be given again.
func TestBulkheadsKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		m, err := New(Config{
			ServiceTime: Spec{A: 1}, Compartments: []string{"slow", "slow", "fast", ""}, Bulkheads: Bulkheads{"slow": limit},
		})
		if err != nil {
			t.Fatal(err)
		}
		busy := [5]int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			class := rapid.IntRange(0, 4).Draw(t, "class") // 4 is not configured
			slow := busy[0] + busy[1]
			if rapid.Bool().Draw(t, "leaves") && busy[class] > 0 {
				m.Leave(uint8(class))
				busy[class]--
				continue
			}
			got := m.Enter(uint8(class))
			if want := class > 1 || slow < limit; got != want {
				t.Fatalf("class %d with %d of %d slow ones busy: %v", class, slow, limit, got)
			}
			if got {
				busy[class]++
			}
		}
		for class := range uint8(2) {
			for ; busy[class] > 0; busy[class]-- {
				m.Leave(class)
			}
		}
		for i := range limit {
			if !m.Enter(0) {
				t.Fatalf("worker %d of %d is lost", i+1, limit)
			}
		}
	})
}
