package pace

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// thread sleeps in epoll_pwait2, on an eventfd for Wake and on sockets.
type thread struct {
	epoll, event int
	timeout      unix.Timespec
	lead         lead
	events       [64]unix.EpollEvent
	ready        []uint32
}

// eventID is the id of the eventfd.
const eventID = ^uint32(0)

// New returns a Sleeper of the best kind that the system has: on Linux from 5.11
// a Watcher, which must be closed.
func New() (Sleeper, error) {
	t := &thread{epoll: -1, event: -1}
	if err := t.open(); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("pacing thread: %w", err)
	}
	if _, err := t.wait(0, false); err == unix.ENOSYS {
		_ = t.Close()
		return NewTimer(), nil
	}
	return t, nil
}

func (t *thread) open() (err error) {
	if t.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	if t.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	return t.add(t.event, eventID)
}

func (t *thread) add(fd int, id uint32) error {
	return unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(id)})
}

// Run calls f, which sleeps with s, on a goroutine of its own that keeps its
// operating-system thread, and returns when f does.
func Run(s Sleeper, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, ours := s.(*thread); ours {
			// The thread's timer slack is changed, so it ends with the goroutine
			// instead of going back to the runtime's pool: no UnlockOSThread.
			runtime.LockOSThread()
			// A nanosecond is the least: 0 means the default of 50 µs, which is also
			// what is left when the system does not allow it.
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
			// What paces goes before what it loads, or a busy machine measures its own
			// scheduler. Where that is not allowed, sends are later.
			_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), paceNice)
		}
		f()
	}()
	<-done
}

// paceNice is the thread's nice value: enough to go first, and no real-time
// priority, which a loop gone wild could take the machine down with.
const paceNice = -10

// shortSleep is the longest sleep in which the thread keeps its P: below the 10 ms
// after which the scheduler would interrupt a goroutine that does not yield.
const shortSleep = 8 * time.Millisecond

// Sleep implements Sleeper. It ends a little early rather than late (see lead). In a
// short sleep the thread keeps its P (the scheduler's right to run Go code), so that it
// goes on at once when it wakes, and no other thread is woken to take the P over and
// give it back: at thousands of sleeps a second that is most of their cost. The others
// have one P less meanwhile. Stopping the world interrupts the sleep by a signal.
func (t *thread) Sleep(d time.Duration) {
	t.ready = t.ready[:0]
	asked, start := max(d-t.lead.time(), 0), time.Now()
	n, err := t.wait(asked, d > shortSleep)
	if err != 0 {
		return // EINTR, the runtime's own signals: waking early is allowed
	}
	if n == 0 && asked > 0 {
		t.lead.learn(time.Since(start) - asked)
	}
	for _, e := range t.events[:n] {
		if id := uint32(e.Fd); id != eventID {
			t.ready = append(t.ready, id)
			continue
		}
		var count [8]byte
		_, _ = unix.Read(t.event, count[:])
	}
}

// wait is epoll_pwait2, which x/sys does not wrap.
func (t *thread) wait(d time.Duration, yield bool) (int, unix.Errno) {
	t.timeout = unix.NsecToTimespec(int64(d))
	call := unix.RawSyscall6
	if yield {
		call = unix.Syscall6
	}
	n, _, err := call(unix.SYS_EPOLL_PWAIT2, uintptr(t.epoll), uintptr(unsafe.Pointer(&t.events)), uintptr(len(t.events)),
		uintptr(unsafe.Pointer(&t.timeout)), 0, 0)
	return int(n), err
}

// Wake implements Sleeper.
func (t *thread) Wake() {
	one := [8]byte{0: 1}
	// It fails only when the counter is full, and then a wake is pending anyway.
	_, _ = unix.Write(t.event, one[:])
}

// Ready implements Watcher.
func (t *thread) Ready() []uint32 { return t.ready }

// Close implements io.Closer.
func (t *thread) Close() error {
	for _, fd := range []int{t.epoll, t.event} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}
