package control

import "time"

// Usage is what a process has used of its machine.
type Usage struct {
	CPU      time.Duration `json:"cpu_ns"`         // user and system time since its start
	RSS      int64         `json:"rss_bytes"`      // memory held now; 0 unknown or ended
	PeakRSS  int64         `json:"peak_rss_bytes"` // most memory ever held; 0 unknown
	Measured bool          `json:"measured"`       // false where the system does not tell
}

// Usage returns the child's use so far, or in total when it has ended. While a
// child runs only Linux tells.
func (c *Child) Usage() Usage {
	select {
	case <-c.done:
		return endedUsage(c.cmd.ProcessState)
	default:
		return ProcessUsage(c.PID())
	}
}

func (u Usage) plus(o Usage) Usage {
	return Usage{CPU: u.CPU + o.CPU, RSS: u.RSS + o.RSS, PeakRSS: max(u.PeakRSS, o.PeakRSS), Measured: u.Measured && o.Measured}
}

// since returns the use after the earlier reading o of the same process.
func (u Usage) since(o Usage) Usage {
	u.CPU -= o.CPU
	return u
}
