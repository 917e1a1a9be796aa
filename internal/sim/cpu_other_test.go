//go:build !unix

package sim

import "time"

// cpu stands in for processor time where it is not known.
func cpu() time.Duration { return time.Duration(time.Now().UnixNano()) }
