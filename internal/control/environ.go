package control

import (
	"fmt"
	"os"
	"strings"
	"time"

	"shedload/internal/boot"
	"shedload/internal/scenario"
)

// freePort lets the system choose.
const freePort = "127.0.0.1:0"

// environ collects variables by name without the prefix.
type environ []string

func (e *environ) set(name string, value any) {
	*e = append(*e, fmt.Sprintf("%s%s=%v", boot.Prefix, name, value))
}

// setTime leaves out what is not set, so that the program's default holds.
func (e *environ) setTime(name string, d time.Duration) {
	if d > 0 {
		e.set(name, d)
	}
}

// inherited is our own environment without our variables: a child's configuration
// is what the plan says, whatever is set around us.
func inherited() environ {
	var e environ
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, boot.Prefix) {
			e = append(e, v)
		}
	}
	return e
}

// apiserverEnviron is the environment in which an apiserver is the plan's server.
func apiserverEnviron(p scenario.Plan, logLevel string) []string {
	s, e := p.Server, inherited()
	for _, listener := range []string{"LISTEN_ADDR", "WORKER_ADDR", "ADMIN_ADDR"} {
		e.set(listener, freePort)
	}
	e.set("LOG_LEVEL", logLevel)
	e.set("QUEUE_DISCIPLINE", s.Discipline)
	if s.DropMargin != nil {
		e.set("DROP_MARGIN", s.DropMargin)
	}
	e.set("SILENT_DROPS", s.SilentDrops)
	e.setTime("CODEL_TARGET", s.CodelTarget)
	e.setTime("CODEL_INTERVAL", s.CodelInterval)
	e.set("DOOR", s.Door)
	e.set("CLASSES", text(classes(p)))
	if s.HardLimit > 0 {
		e.set("QUEUE_HARD_LIMIT", s.HardLimit)
	}
	e.set("CANCEL_ABANDONED", s.CancelAbandoned)
	e.setTime("LEASE_TIMEOUT", s.LeaseTimeout)
	e.setTime("RETRY_AFTER", s.RetryAfter)
	e.set("DO_NOT_RETRY", s.DoNotRetry)
	e.setTime("PATIENCE", p.Recovery.Patience)
	return e
}

// backendEnviron is the environment in which a backend is the plan's workers.
func backendEnviron(p scenario.Plan, workerURL, logLevel string) []string {
	b, e := p.Backend, inherited()
	e.set("API_URL", workerURL)
	e.set("ADMIN_ADDR", freePort)
	e.set("LOG_LEVEL", logLevel)
	e.set("WORKERS", b.Workers)
	e.set("SERVICE_TIME", b.ServiceTime)
	e.set("WORK", b.Work)
	e.set("DEGRADE", b.Degrade)
	if len(b.Bulkheads) > 0 {
		e.set("BULKHEADS", b.Bulkheads)
	}
	e.set("SEED", uint64(p.Seed))
	e.set("CLASSES", text(classes(p)))
	var times boot.ClassTimes
	for _, c := range p.Classes {
		if c.ServiceTime != nil {
			times = append(times, boot.ClassTime{Class: c.Name, Time: *c.ServiceTime})
		}
	}
	e.set("CLASS_SERVICE_TIMES", text(times))
	return e
}

func classes(p scenario.Plan) boot.Classes { return p.WorkClasses() }

// text is the text form of a value whose own never fails.
func text(m interface{ MarshalText() ([]byte, error) }) string {
	b, err := m.MarshalText()
	if err != nil {
		panic(fmt.Sprintf("control: %T has no text form: %v", m, err))
	}
	return string(b)
}
