package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimerSleepsExactlyInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTimer()
		start := time.Now()
		for range 3 {
			s.Sleep(1500 * time.Microsecond)
		}
		if got, want := time.Since(start), 4500*time.Microsecond; got != want {
			t.Errorf("slept %v, want %v", got, want)
		}
		s.Sleep(-time.Second)
		if got, want := time.Since(start), 4500*time.Microsecond; got != want {
			t.Errorf("a negative sleep ended at %v, want %v", got, want)
		}
	})
}

func TestTimerWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTimer()
		start := time.Now()
		s.Wake()
		s.Wake() // two wakes before a sleep are one
		s.Sleep(time.Hour)
		go func() {
			time.Sleep(time.Second)
			s.Wake()
		}()
		s.Sleep(time.Hour)
		if got := time.Since(start); got != time.Second {
			t.Errorf("woken after %v, want 1s", got)
		}
		s.Sleep(time.Millisecond)
		if got := time.Since(start); got != 1001*time.Millisecond {
			t.Errorf("an old wake or an old timer ended the sleep at %v", got)
		}
	})
}

// TestRunSleepsAndWakes runs on the real clock: the sleep that is woken would
// last an hour, so that only a Wake can end it.
func TestRunSleepsAndWakes(t *testing.T) {
	err := Run(func(s Sleeper) {
		const short = 3 * time.Millisecond
		for start := time.Now(); time.Since(start) < short; {
			s.Sleep(short - time.Since(start))
		}
		woken := make(chan struct{})
		go func() { s.Wake(); close(woken) }()
		for start := time.Now(); ; {
			s.Sleep(time.Hour - time.Since(start))
			select {
			case <-woken:
				return
			default:
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkLateness reports how late sleeps of a millisecond end.
func BenchmarkLateness(b *testing.B) {
	late := func(b *testing.B, s Sleeper) {
		var sum time.Duration
		for b.Loop() {
			start := time.Now()
			s.Sleep(time.Millisecond)
			sum += time.Since(start) - time.Millisecond
		}
		b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs-late")
	}
	b.Run("thread", func(b *testing.B) {
		if err := Run(func(s Sleeper) { late(b, s) }); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("timer", func(b *testing.B) { late(b, NewTimer()) })
}
