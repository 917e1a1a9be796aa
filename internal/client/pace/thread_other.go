//go:build !linux

package pace

// Run calls f with a Sleeper of the best kind that the system has and returns
// when f does.
func Run(f func(Sleeper)) error {
	f(NewTimer())
	return nil
}
