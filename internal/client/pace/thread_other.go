//go:build !linux

package pace

// New returns a Sleeper of the best kind that the system has.
func New() (Sleeper, error) { return NewTimer(), nil }

// Run calls f, which sleeps with s, and returns when f does.
func Run(_ Sleeper, f func()) { f() }
