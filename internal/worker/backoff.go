package worker

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// backoff spaces requests to a server that does not answer: exponentially, and
// with jitter, so that many backends do not come back in step. It is the one
// place where a worker is not reproducible, and no experiment passes through it.
type backoff struct{ tries int }

// next returns the pause before the next try.
func (b *backoff) next() time.Duration {
	pause := lastPause
	if b.tries < 6 {
		pause = min(lastPause, firstPause<<b.tries)
		b.tries++
	}
	return pause/2 + rand.N(pause/2)
}
