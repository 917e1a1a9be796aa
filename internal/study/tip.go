package study

import (
	"context"
	"slices"

	"shedload/internal/scenario"
)

// TipConfig asks for a tipping point.
type TipConfig struct {
	Range Range
	// Seeds is how many runs each value gets.
	Seeds int
	// Users asks whether users stay down instead of goodput.
	Users bool
	// Plan returns the plan in which the setting has the value.
	Plan   func(value string) (scenario.Plan, error)
	Engine Engine
	// Tried, if not nil, is told of each value as soon as its runs are over.
	Tried func(Point)
}

// Point is one value that was tried.
type Point struct {
	Value string  `json:"value"`
	X     float64 `json:"x"` // the value in seconds, or as a number
	Fate
	P float64 `json:"p"` // share of the decided runs that stayed down
}

// Tip is where a system tips over.
type Tip struct {
	// Points are the values tried, in rising order.
	Points []Point `json:"points"`
	// Found says that the two ends of the range lie on different sides.
	Found bool `json:"found"`
	// Half is the value at which half of the runs stay down, by a straight line
	// between the nearest values tried on its two sides. 0 unless Found.
	Half     float64 `json:"half"`
	HalfText string  `json:"half_text"`
	// Between are those two values.
	Between [2]string `json:"between"`
}

// coarse is how many values are tried before the search, the two ends included, so
// that the curve is seen as a whole.
const coarse = 5

// FindTip tries some values all over the range, then halves the stretch in which
// the share of runs that stay down passes one half. Where it passes it several
// times (the curve need not rise all the way), the first is found.
func FindTip(ctx context.Context, c TipConfig) (Tip, error) {
	var t Tip
	try := func(x float64) (Point, error) {
		x = c.Range.Round(x)
		for _, p := range t.Points {
			if p.X == x {
				return p, nil
			}
		}
		p := Point{Value: c.Range.Text(x), X: x}
		plan, err := c.Plan(p.Value)
		if err != nil {
			return p, err
		}
		runs, err := Seeds(ctx, plan, c.Seeds, c.Engine)
		if err != nil {
			return p, err
		}
		p.Fate = FateOf(runs, c.Users)
		p.P = p.StaysDown()
		if c.Tried != nil {
			c.Tried(p)
		}
		at, _ := slices.BinarySearchFunc(t.Points, x, func(q Point, x float64) int {
			if q.X < x {
				return -1
			}
			return 1
		})
		t.Points = slices.Insert(t.Points, at, p)
		return p, nil
	}
	for i := range coarse {
		if _, err := try(c.Range.Low + (c.Range.High-c.Range.Low)*float64(i)/(coarse-1)); err != nil {
			return t, err
		}
	}
	low, high, ok := t.crossing()
	for ok && high.X-low.X > c.Range.Step {
		middle, err := try((low.X + high.X) / 2)
		if err != nil {
			return t, err
		}
		if middle.X <= low.X || middle.X >= high.X {
			break // no value lies between
		}
		low, high, _ = t.crossing()
	}
	if t.Found = ok; ok {
		t.Half = low.X
		if high.P != low.P {
			t.Half += (high.X - low.X) * (0.5 - low.P) / (high.P - low.P)
		}
		t.HalfText = c.Range.Text(t.Half)
		t.Between = [2]string{low.Value, high.Value}
	}
	return t, nil
}

// crossing returns the first two neighbours on different sides of one half.
func (t *Tip) crossing() (low, high Point, ok bool) {
	for i := 1; i < len(t.Points); i++ {
		a, b := t.Points[i-1], t.Points[i]
		if (a.P < 0.5) != (b.P < 0.5) {
			return a, b, true
		}
	}
	return Point{}, Point{}, false
}
