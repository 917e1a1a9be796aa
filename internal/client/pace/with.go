package pace

import "io"

// With calls f with the best Sleeper that the system has, where it sleeps best,
// and returns when f does. The error says why there is none.
func With(f func(Sleeper)) error {
	s, err := New()
	if err != nil {
		return err
	}
	if c, ok := s.(io.Closer); ok {
		defer c.Close()
	}
	Run(s, func() { f(s) })
	return nil
}
