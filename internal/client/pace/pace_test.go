package pace

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shedload/internal/client/wire"
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

// best returns the system's best Sleeper and closes it after the test.
func best(t testing.TB) Sleeper {
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c, ok := s.(io.Closer); ok {
			_ = c.Close()
		}
	})
	return s
}

// TestRunSleepsAndWakes runs on the real clock: the sleep that is woken would
// last an hour, so that only a Wake can end it.
func TestRunSleepsAndWakes(t *testing.T) {
	s := best(t)
	Run(s, func() {
		for _, d := range []time.Duration{3 * time.Millisecond, 30 * time.Millisecond} {
			for start := time.Now(); time.Since(start) < d; {
				s.Sleep(d - time.Since(start))
			}
		}
		var woken atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			woken.Store(true)
			s.Wake()
		}()
		for !woken.Load() {
			s.Sleep(time.Hour)
		}
		<-done // it must not be closed before
	})
}

// TestWatch: a sleep ends when a watched socket can be read, which does not block.
func TestWatch(t *testing.T) {
	w, ok := best(t).(Watcher)
	if !ok {
		t.Skip("this system's sleeper does not watch sockets")
	}
	if _, err := w.Watch(&net.UnixConn{}, 1); err != ErrNotWatched {
		t.Errorf("another connection: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	near, err := w.Watch(nc, 7)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if _, err := near.Read(buf); err != wire.ErrNotReady {
		t.Errorf("nothing to read: %v", err)
	}
	if _, err := near.Write([]byte("ping")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(far, buf[:4]); err != nil || string(buf[:4]) != "ping" {
		t.Errorf("%q, %v", buf[:4], err)
	}
	if _, err := near.Write(make([]byte, 64<<20)); err == nil {
		t.Error("more was written than fits")
	}
	for _, says := range []string{"pong", ""} {
		if says == "" {
			far.Close() // with unread bytes: a reset
		} else if _, err := io.WriteString(far, says); err != nil {
			t.Error(err)
		}
		for w.Sleep(time.Hour); len(w.Ready()) == 0; {
			w.Sleep(time.Hour)
		}
		if !slices.Equal(w.Ready(), []uint32{7}) {
			t.Errorf("ready %v", w.Ready())
		}
		if n, err := near.Read(buf); string(buf[:n]) != says || (err == nil) != (says != "") {
			t.Errorf("read %q, %v, want %q", buf[:n], err, says)
		}
	}
	if err := near.Close(); err != nil {
		t.Error(err)
	}
	if w.Sleep(0); len(w.Ready()) != 0 {
		t.Error("a closed socket is ready")
	}
}

// TestLead: of delays that span 40 µs, and some of milliseconds, one in twenty is shorter
// than the lead, once it is learnt; and it follows when they change.
func TestLead(t *testing.T) {
	var l lead
	rnd := rand.New(rand.NewPCG(1, 2))
	shorter := func(least time.Duration) (share float64) {
		const n = 20_000
		for i := range 2 * n {
			delay := least + time.Duration(rnd.Int64N(int64(40*time.Microsecond)))
			if i%50 == 0 {
				delay += 5 * time.Millisecond
			}
			if i >= n && delay < l.time() {
				share += 1.0 / n
			}
			l.learn(delay)
		}
		return share
	}
	for _, least := range []time.Duration{20 * time.Microsecond, 5 * time.Microsecond, 50 * time.Microsecond} {
		if got := shorter(least); got < 0.04 || got > 0.06 {
			t.Errorf("from %v: %v of the delays are shorter than the lead, want 0.05", least, got)
		}
		if off := l.time() - least; off < -5*time.Microsecond || off > 10*time.Microsecond {
			t.Errorf("from %v: a lead of %v", least, l.time())
		}
	}
	if shorter(10 * time.Millisecond); l != leadMost {
		t.Errorf("a lead of %v, want at most %v", l.time(), leadMost.time())
	}
	for range 200 {
		l.learn(0)
	}
	if l != 0 {
		t.Errorf("a lead of %v after no delay at all", l.time())
	}
}

// BenchmarkLateness reports how late sleeps of a millisecond end: one in two, and one in
// a hundred.
func BenchmarkLateness(b *testing.B) {
	late := func(b *testing.B, s Sleeper) {
		var all []time.Duration
		for b.Loop() {
			start := time.Now()
			for took := time.Duration(0); took < time.Millisecond; took = time.Since(start) {
				s.Sleep(time.Millisecond - took)
			}
			all = append(all, time.Since(start)-time.Millisecond)
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2])/1e3, "µs-late-p50")
		b.ReportMetric(float64(all[len(all)*99/100])/1e3, "µs-late-p99")
	}
	b.Run("thread", func(b *testing.B) {
		s := best(b)
		Run(s, func() { late(b, s) })
	})
	b.Run("timer", func(b *testing.B) { late(b, NewTimer()) })
}
