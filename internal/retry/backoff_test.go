package retry

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/draw"
)

func TestBackoffWithoutJitter(t *testing.T) {
	for _, c := range []struct {
		b    BackoffSpec
		want []time.Duration // before the 2nd, 3rd, ... try
	}{
		{BackoffSpec{}, []time.Duration{0, 0, 0}},
		{BackoffSpec{Kind: FixedBackoff, Base: 70 * ms}, []time.Duration{70 * ms, 70 * ms, 70 * ms}},
		{BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms}, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms, Cap: 250 * ms}, []time.Duration{100 * ms, 200 * ms, 250 * ms, 250 * ms}},
		{BackoffSpec{Kind: ExponentialBackoff, Base: 40 * time.Minute}, []time.Duration{40 * time.Minute, MaxWait, MaxWait}},
	} {
		for i, want := range c.want {
			if got := c.b.pause(i+1, 0, draw.Rand{}); got != want {
				t.Errorf("%+v after try %d: %s, want %s", c.b, i+1, got, want)
			}
		}
	}
}

func TestBackoffDoesNotOverflow(t *testing.T) {
	b := BackoffSpec{Kind: ExponentialBackoff, Base: 1, Cap: MaxWait}
	for _, tries := range []int{43, 44, 63, 64, 65, MaxAttempts} {
		if got := b.pause(tries, 0, draw.Rand{}); got != MaxWait {
			t.Errorf("after try %d: %s, want %s", tries, got, MaxWait)
		}
	}
}

// Each jitter reaches both ends of its range and stays inside. The ranges are those
// of the AWS article, for 800 ms after the fourth try.
func TestBackoffJitterRanges(t *testing.T) {
	for _, c := range []struct {
		j         Jitter
		last      time.Duration
		low, high time.Duration
	}{
		{FullJitter, 0, 0, 800 * ms},
		{EqualJitter, 0, 400 * ms, 800 * ms},
		{DecorrelatedJitter, 0, 100 * ms, 300 * ms},
		{DecorrelatedJitter, 250 * ms, 100 * ms, 750 * ms},
		{DecorrelatedJitter, 800 * ms, 100 * ms, time.Second}, // cut at the cap
	} {
		b := BackoffSpec{Kind: ExponentialBackoff, Base: 100 * ms, Cap: time.Second, Jitter: c.j}
		low, high := time.Duration(math.MaxInt64), time.Duration(0)
		for request := range uint64(5000) {
			got := b.pause(4, c.last, draw.Seed(1).For(draw.Key{Purpose: draw.Backoff, Request: request}))
			low, high = min(low, got), max(high, got)
		}
		slack := (c.high - c.low) / 100
		if low < c.low || high > c.high || low > c.low+slack || high < c.high-slack {
			t.Errorf("%s after %s: %s to %s, want %s to %s", c.j, c.last, low, high, c.low, c.high)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := BackoffSpec{
			Kind: ExponentialBackoff,
			Base: time.Duration(rapid.Int64Range(1, int64(MaxWait)).Draw(t, "base")),
		}
		if rapid.Bool().Draw(t, "capped") {
			b.Cap = time.Duration(rapid.Int64Range(int64(b.Base), int64(MaxWait)).Draw(t, "cap"))
		}
		limit := b.Cap
		if limit == 0 {
			limit = MaxWait
		}
		jitter := Jitter(rapid.IntRange(int(NoJitter), int(DecorrelatedJitter)).Draw(t, "jitter"))
		plainBefore, last := time.Duration(0), time.Duration(0)
		for tries := 1; tries <= 70; tries++ {
			plain := b.pause(tries, 0, draw.Rand{})
			if plain < plainBefore || plain > limit || plain < b.Base {
				t.Fatalf("without jitter after try %d: %s after %s, base %s, cap %s", tries, plain, plainBefore, b.Base, limit)
			}
			plainBefore = plain
			spread := b
			spread.Jitter = jitter
			last = spread.pause(tries, last, draw.Seed(tries).For(draw.Key{}))
			if last < 0 || last > limit {
				t.Fatalf("%s after try %d: %s, cap %s", jitter, tries, last, limit)
			}
		}
	})
}
