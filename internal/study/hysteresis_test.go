package study

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/sim"
	"shedload/scenarios"
)

func TestLoadsOfAWalk(t *testing.T) {
	for _, c := range []struct {
		w    Walk
		want string
	}{
		{Walk{20, 50, 10, time.Second}, "[20 30 40 50 40 30 20]"},
		{Walk{20, 55, 10, time.Second}, "[20 30 40 50 55 50 40 30 20]"}, // the top is what was asked for
		{Walk{0.1, 0.3, 0.1, time.Second}, "[0.1 0.2 0.3 0.2 0.1]"},
	} {
		if err := c.w.Validate(); err != nil {
			t.Errorf("%+v: %v", c.w, err)
		}
		if got := fmt.Sprint(c.w.Loads()); got != c.want {
			t.Errorf("%+v: loads %s, want %s", c.w, got, c.want)
		}
		if float64(len(c.w.Loads())) != c.w.rests() {
			t.Errorf("%+v: %d loads, but %v rests", c.w, len(c.w.Loads()), c.w.rests())
		}
	}
	for _, w := range []Walk{
		{}, {0, 10, 1, time.Second}, {10, 10, 1, time.Second}, {10, 20, 0, time.Second}, {10, 20, -1, time.Second},
		{10, 20, 0.001, time.Second}, {10, 20, 1, 1500 * time.Millisecond}, {10, 20, 1, 0}, {1, 1e300, 1, time.Second},
	} {
		if err := w.Validate(); err == nil {
			t.Errorf("%+v is allowed", w)
		}
	}
}

// stairs makes the rows of a walk whose service delivers goodput(load, up) and
// finishes at most 80 a second.
func stairs(w Walk, goodput func(load float64, up bool) float64) ledger.Rows {
	var rows ledger.Rows
	for i, load := range w.Loads() {
		for range int(w.Hold / time.Second) {
			r := ledger.Row{T: len(rows), Offered: int64(load)}
			r.Requests, r.GoodputClient = int64(load), int64(goodput(load, i < w.up()))
			r.Throughput = int64(min(load, 80))
			rows = append(rows, r)
		}
	}
	return rows
}

func TestReadAWalk(t *testing.T) {
	w := Walk{20, 120, 20, 4 * time.Second}
	for _, c := range []struct {
		name             string
		goodput          func(load float64, up bool) float64
		collapse, comes  float64 // 0: none
		said             string
		levelOfTheFourth float64
	}{
		{"sheds", func(load float64, _ bool) float64 { return min(load, 80) }, 0, 0, "held at every load from 20/s to 120/s", 1},
		{"falls and returns", func(load float64, up bool) float64 {
			if load > 80 || !up && load > 40 {
				return 10
			}
			return load
		}, 100, 40, "collapsed at 100/s and returned at 40/s. Between", 1},
		{"no hysteresis", func(load float64, _ bool) float64 {
			if load > 80 {
				return 0
			}
			return load
		}, 100, 80, "returned at 80/s", 1},
		{"never returns", func(load float64, up bool) float64 {
			if load > 60 || !up {
				return 0
			}
			return load
		}, 80, 0, "had not returned at 20/s", 0},
	} {
		h, err := w.Read(stairs(w, c.goodput))
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]float64{orZero(h.Collapse), orZero(h.Return)}; got != [2]float64{c.collapse, c.comes} {
			t.Errorf("%s: collapse and return at %v, want %v and %v", c.name, got, c.collapse, c.comes)
		}
		if !strings.Contains(h.Sentence(), c.said) {
			t.Errorf("%s: %q does not say %q", c.name, h.Sentence(), c.said)
		}
		if h.Capacity != 80 || len(h.Rests) != 11 || h.Rests[3].Level != c.levelOfTheFourth || !h.Rests[5].Up || h.Rests[6].Up {
			t.Errorf("%s: got %+v", c.name, h)
		}
	}
	if _, err := w.Read(make(ledger.Rows, 10)); err == nil {
		t.Error("a walk that was not finished is read")
	}
}

func orZero(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// walked walks a variant of the scenario hysteresis in virtual time.
func walked(t *testing.T, variant string, sets ...string) Hysteresis {
	t.Helper()
	s, err := scenario.Load("hysteresis", scenarios.Open)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := s.Plans([]string{variant}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	w := WalkOf(plans[0])
	p, err := w.Plan(plans[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(p)
	if err != nil {
		t.Fatal(err)
	}
	h, err := w.Read(r.Ledger.Rows(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", variant, h.Sentence())
	return h
}

// TestTheLoopNeedsBothHalves is the claim of the scenario hysteresis: retries keep a
// stale queue going far below the load at which it fell; without retries, or with a
// queue that drops the stale, goodput returns where it fell, or never falls.
func TestTheLoopNeedsBothHalves(t *testing.T) {
	retries, none, deadline := walked(t, "retries"), walked(t, "no-retries"), walked(t, "retries-deadline")
	if retries.Collapse == nil || retries.Return != nil && *retries.Return > *retries.Collapse/2 {
		t.Errorf("retries: %s want a collapse, and a return at half its load or less", retries.Sentence())
	}
	if none.Collapse == nil || none.Return == nil || *none.Return < *retries.Collapse/2 {
		t.Errorf("no retries: %s want a collapse, and a return not far below", none.Sentence())
	}
	if deadline.Collapse != nil {
		t.Errorf("retries with deadline: %s want no collapse", deadline.Sentence())
	}
}

// TestDegradationIsALoopOfItsOwn: no retries, and yet goodput returns far below
// where it fell; a door that bounds the load breaks the loop.
func TestDegradationIsALoopOfItsOwn(t *testing.T) {
	loop, door := walked(t, "degradation"), walked(t, "degradation-limit")
	if loop.Collapse == nil || loop.Return != nil && *loop.Return >= *loop.Collapse-10 {
		t.Errorf("degradation: %s want a return below the collapse", loop.Sentence())
	}
	if door.Collapse != nil && (door.Return == nil || *door.Return < *door.Collapse-10) {
		t.Errorf("with a door: %s want no hysteresis", door.Sentence())
	}
}

func TestWalksThatCannotBe(t *testing.T) {
	p := scenario.Plan{Clients: []scenario.Client{{Name: "users", Users: 5}}}
	if _, err := (Walk{10, 20, 5, time.Second}).Plan(p); err == nil || !strings.Contains(err.Error(), "client users") {
		t.Errorf("a closed loop: %v", err)
	}
	if !slices.IsSorted((Walk{10, 20, 5, time.Second}).Loads()[:3]) {
		t.Error("a walk begins upwards")
	}
}
