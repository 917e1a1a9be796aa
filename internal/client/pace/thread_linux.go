package pace

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run calls f with a Sleeper of the best kind that the system has, on a
// goroutine of its own that keeps its operating-system thread, and returns when
// f does. The Sleeper must not be used after that, except that Wake may be
// called too late as long as the caller keeps it from racing with the end of f.
func Run(f func(Sleeper)) error {
	failed := make(chan error, 1)
	go func() {
		// The thread's timer slack is changed, so it ends with the goroutine
		// instead of going back to the runtime's pool: no UnlockOSThread.
		runtime.LockOSThread()
		t, err := newThread()
		if err != nil {
			failed <- err
			return
		}
		defer t.close()
		f(t)
		failed <- nil
	}()
	return <-failed
}

// thread sleeps in ppoll on an eventfd, so that it can be woken.
type thread struct {
	fds     [1]unix.PollFd
	timeout unix.Timespec
}

func newThread() (*thread, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("pacing thread: eventfd: %w", err)
	}
	// One nanosecond is the smallest slack: 0 would mean the default of 50 µs.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("pacing thread: timer slack: %w", err)
	}
	return &thread{fds: [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}}, nil
}

// shortSleep is the longest sleep in which the thread keeps its P: below the 10 ms
// after which the scheduler would interrupt a goroutine that does not yield.
const shortSleep = 8 * time.Millisecond

// Sleep implements Sleeper. In a short sleep the thread keeps its P (the
// scheduler's right to run Go code), so that it goes on at once when it wakes, and
// no other thread is woken to take the P over and give it back: at thousands of
// sleeps a second that is most of their cost. The others have one P less
// meanwhile. Stopping the world interrupts the sleep by a signal.
func (t *thread) Sleep(d time.Duration) {
	t.timeout = unix.NsecToTimespec(int64(max(d, 0)))
	// An error is EINTR, the runtime's own signals: waking early is allowed.
	n := 0
	if d > shortSleep {
		n, _ = unix.Ppoll(t.fds[:], &t.timeout, nil)
	} else {
		r, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&t.fds[0])), 1, uintptr(unsafe.Pointer(&t.timeout)), 0, 0, 0)
		n = int(r)
	}
	if n > 0 {
		var count [8]byte
		_, _ = unix.Read(int(t.fds[0].Fd), count[:])
	}
}

// Wake implements Sleeper.
func (t *thread) Wake() {
	one := [8]byte{0: 1}
	// It fails only when the counter is full, and then a wake is pending anyway.
	_, _ = unix.Write(int(t.fds[0].Fd), one[:])
}

func (t *thread) close() { _ = unix.Close(int(t.fds[0].Fd)) }
