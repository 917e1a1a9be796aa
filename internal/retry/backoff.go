package retry

import (
	"time"

	"shedload/internal/draw"
)

// pause returns the backoff before the retry that follows try number tries; last is
// the backoff before that try, 0 for the first. It never exceeds the cap, and never
// falls with tries where there is no jitter.
func (b BackoffSpec) pause(tries int, last time.Duration, rnd draw.Rand) time.Duration {
	if b.Kind == NoBackoff {
		return 0
	}
	limit := b.Cap
	if limit == 0 {
		limit = MaxWait
	}
	pause := min(b.Base, limit)
	if b.Kind == ExponentialBackoff {
		pause = doubled(b.Base, tries-1, limit)
	}
	switch b.Jitter {
	case FullJitter:
		return between(0, pause, &rnd)
	case EqualJitter:
		return between(pause/2, pause, &rnd)
	case DecorrelatedJitter:
		// The article starts from the base; the cap cuts the draw, not its range.
		return min(limit, between(b.Base, 3*max(last, b.Base), &rnd))
	}
	return pause
}

// doubled returns base doubled times times, at most limit. It compares before it
// shifts, so that nothing overflows.
func doubled(base time.Duration, times int, limit time.Duration) time.Duration {
	for ; times > 0 && base < limit; times-- {
		base <<= 1
	}
	return min(base, limit)
}

// between draws a duration in [low, high], both ends included.
func between(low, high time.Duration, rnd *draw.Rand) time.Duration {
	return low + time.Duration(rnd.Below(uint64(high-low)+1))
}
