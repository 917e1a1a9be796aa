package pace

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"shedload/internal/client/wire"
)

// socket is a connection that was taken over from net.
type socket struct{ fd int }

// Watch implements Watcher.
func (t *thread) Watch(nc net.Conn, id uint32) (io.ReadWriteCloser, error) {
	c, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, ErrNotWatched
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, ErrNotWatched
	}
	// A duplicate, as net would close its own descriptor; and net's must be closed,
	// or the runtime's poller would wake up for the socket as well.
	fd := -1
	if cerr := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); cerr != nil {
		err = cerr
	}
	_ = c.Close()
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	if err := t.add(fd, id); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return &socket{fd}, nil
}

// Read implements io.Reader.
func (s *socket) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(s.fd, p)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case err == unix.EAGAIN:
			return 0, wire.ErrNotReady
		case err != unix.EINTR:
			return 0, os.NewSyscallError("read", err)
		}
	}
}

// Write implements io.Writer. What does not fit into the socket's buffer is an error.
func (s *socket) Write(p []byte) (int, error) {
	for {
		n, err := unix.Write(s.fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("write", err)
		case n < len(p):
			return n, io.ErrShortWrite
		}
		return n, nil
	}
}

// Close implements io.Closer. The kernel forgets to watch what is closed.
func (s *socket) Close() error { return unix.Close(s.fd) }
