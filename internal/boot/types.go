package boot

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// Addr is an address to listen on, HOST:PORT. Port 0 takes a free one; an empty
// host is all interfaces.
type Addr string

// UnmarshalText accepts HOST:PORT with a numeric port.
func (a *Addr) UnmarshalText(b []byte) error {
	_, port, err := net.SplitHostPort(string(b))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("not an address: allowed is HOST:PORT with a port from 0 to 65535, like 127.0.0.1:8080")
	}
	*a = Addr(b)
	return nil
}

// Loopback reports whether only this machine can reach the address.
func (a Addr) Loopback() bool {
	host, _, err := net.SplitHostPort(string(a))
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// BaseURL is the http URL of a service, without path, query, or user.
type BaseURL string

// UnmarshalText accepts http://HOST[:PORT] and drops a trailing slash.
func (u *BaseURL) UnmarshalText(b []byte) error {
	p, err := url.Parse(string(b))
	if err != nil || p.Scheme != "http" || p.Host == "" || p.User != nil || (p.Path != "" && p.Path != "/") || p.RawQuery != "" || p.Fragment != "" {
		return errors.New("not the URL of a service: allowed is http://HOST:PORT, like http://127.0.0.1:8081")
	}
	*u = BaseURL(p.Scheme + "://" + p.Host)
	return nil
}

// Work is what a backend does while it serves a unit.
type Work string

// The kinds of work.
const (
	Sleep Work = "sleep" // waits, like a service that is bound by another one
	CPU   Work = "cpu"   // burns processor time, so that CPU-driven policies see something
)

// UnmarshalText accepts sleep and cpu.
func (w *Work) UnmarshalText(b []byte) error {
	switch k := Work(b); k {
	case Sleep, CPU:
		*w = k
		return nil
	}
	return fmt.Errorf("unknown work %q: allowed are sleep, cpu", b)
}
