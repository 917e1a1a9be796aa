package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/work"
)

// Bounds on an experiment, so that a file cannot ask for more than a machine has.
const (
	maxHorizon = 24 * time.Hour
	maxClients = 64
	maxPhases  = 256
	maxWorkers = 1_000_000
)

// checker finds what types cannot say: values that are impossible, or impossible
// together. It points at the value, or at the nearest one above it that is written.
type checker struct {
	*problems
	root *node
	e    *experiment
}

// bad adds a problem at a path of keys and indices.
func (c *checker) bad(path []any, format string, args ...any) {
	c.add(c.root.find(path...).at, pathText(path), format, args...)
}

// blame adds what a type's own check says about the value at a path. Its words name
// keys of the file, so the place is the innermost key that they lead to.
func (c *checker) blame(path []any, err error) {
	if err == nil {
		return
	}
	n := c.root.find(path...)
	for _, word := range keyWords.FindAllString(err.Error(), -1) {
		if next := n.get(word); next != nil {
			n = next
		}
	}
	c.add(n.at, pathText(path), "%s", err)
}

var keyWords = regexp.MustCompile(`[a-z][a-z_]*`)

func pathText(path []any) string {
	text := ""
	for _, step := range path {
		if i, ok := step.(int); ok {
			text += fmt.Sprintf("[%d]", i)
		} else {
			text = join(text, step.(string))
		}
	}
	return text
}

// at builds a path.
func at(steps ...any) []any { return steps }

func (c *checker) check() {
	e := c.e
	switch {
	case !validName(e.Name):
		c.bad(at("name"), "%q: a name is needed, of lower-case letters, digits and .+-_", e.Name)
	case e.Horizon <= 0 || e.Horizon > maxHorizon:
		c.bad(at("horizon"), "is %s: allowed is more than 0s, up to %s", e.Horizon, maxHorizon)
	case e.Warmup < 0 || e.Warmup >= e.Horizon:
		c.bad(at("warmup"), "is %s: allowed is 0s up to the horizon of %s", e.Warmup, e.Horizon)
	case !(e.TimeScale >= 0.01 && e.TimeScale <= 100):
		c.bad(at("time_scale"), "is %v: allowed is 0.01 to 100", e.TimeScale)
	}
	c.classes()
	c.server()
	c.backend()
	c.clients()
	c.phases()
	c.faults()
	c.rest()
}

func (c *checker) classes() {
	if len(c.e.Classes) > work.MaxClasses {
		c.bad(at("classes"), "are %d: at most %d are allowed", len(c.e.Classes), work.MaxClasses)
		return
	}
	share := 0.0
	seen := map[string]bool{}
	for i, k := range c.e.Classes {
		path := at("classes", i)
		ways := 0
		for _, set := range []bool{k.Share != 0, k.Every != 0, k.Client != ""} {
			if set {
				ways++
			}
		}
		last := i == len(c.e.Classes)-1
		switch {
		case !validName(k.Name) || seen[k.Name]:
			c.bad(append(path, "name"), "%q: each class has a name of its own, of lower-case letters, digits and .+-_", k.Name)
		case ways > 1:
			c.bad(path, "has several of share, every and client: one is allowed")
		case ways == 0 && !last:
			c.bad(path, "takes all requests: only the last class may leave out share, every and client")
		case k.Share < 0 || k.Share > 1:
			c.bad(append(path, "share"), "is %v: allowed is 0 to 1", k.Share)
		case k.Every < 0:
			c.bad(append(path, "every"), "is %d: allowed is 1 and more", k.Every)
		case k.Client != "" && !slices.Contains(c.clientNames(), k.Client):
			c.bad(append(path, "client"), "%s", Unknown("client", k.Client, c.clientNames()))
		}
		seen[k.Name] = true
		if share += k.Share; share > 1+1e-9 {
			c.bad(append(path, "share"), "makes %v with those above: all shares together are at most 1", share)
		}
	}
}

func (c *checker) clientNames() []string {
	var out []string
	for _, k := range c.e.Clients {
		out = append(out, k.Name)
	}
	return out
}

func (c *checker) classNames() []string {
	var out []string
	for _, k := range c.e.Classes {
		out = append(out, k.Name)
	}
	return out
}

func (c *checker) workClasses() []work.Class {
	var out []work.Class
	for _, k := range c.e.Classes {
		out = append(out, k.Work())
	}
	return out
}

func (c *checker) server() {
	s := c.e.Server
	if s.DropMargin != nil && !s.Discipline.HasDeadline() {
		c.bad(at("server", "drop_margin"), "has no effect: the discipline %s has no deadline shed (such as deadline, or lifo+deadline)", s.Discipline)
	}
	c.blame(at("server", "door"), s.Door.Validate(c.workClasses()))
	for _, d := range []struct {
		key   string
		value time.Duration
		least time.Duration
	}{
		{"codel_target", s.CodelTarget, 1}, {"codel_interval", s.CodelInterval, 1},
		{"lease_timeout", s.LeaseTimeout, 1}, {"retry_after", s.RetryAfter, 0},
	} {
		if d.value < d.least || d.value > time.Hour {
			c.bad(at("server", d.key), "is %s: allowed is more than 0s (retry_after: from 0s), up to 1h", d.value)
		}
	}
	if s.HardLimit < 1 {
		c.bad(at("server", "queue_hard_limit"), "is %d: allowed is 1 and more", s.HardLimit)
	}
}

func (c *checker) backend() {
	b := c.e.Backend
	if b.Workers < 1 || b.Workers > maxWorkers {
		c.bad(at("backend", "workers"), "is %d: allowed is 1 to %d", b.Workers, maxWorkers)
	}
	if b.ServiceTime.Mean() <= 0 {
		c.bad(at("backend", "service_time"), "is %s: work takes more than 0s", b.ServiceTime)
	}
	var compartments []string
	for _, k := range c.e.Classes {
		if k.Compartment != "" {
			compartments = append(compartments, k.Compartment)
		}
	}
	c.blame(at("backend"), b.Bulkheads.Validate(compartments))
}

func (c *checker) faults() {
	if len(c.e.Faults) > maxPhases {
		c.bad(at("faults"), "are %d: at most %d are allowed", len(c.e.Faults), maxPhases)
		return
	}
	for i, f := range c.e.Faults {
		if err := f.Validate(c.classNames()); err != nil {
			c.blame(at("faults", i), err)
		} else if f.At >= c.e.Horizon {
			c.bad(at("faults", i, "at"), "is %s: the run is over at %s", f.At, c.e.Horizon)
		}
	}
}

func (c *checker) phases() {
	if len(c.e.Phases) > maxPhases {
		c.bad(at("phases"), "are %d: at most %d are allowed", len(c.e.Phases), maxPhases)
		return
	}
	for i, p := range c.e.Phases {
		path := at("phases", i)
		c.blame(path, p.Validate())
		if p.At >= c.e.Horizon {
			c.bad(append(path, "at"), "is %s: the run is over at %s", p.At, c.e.Horizon)
		}
		if p.Client != "" && !slices.Contains(c.clientNames(), p.Client) {
			c.bad(append(path, "client"), "%s", Unknown("client", p.Client, c.clientNames()))
		}
	}
}

func (c *checker) rest() {
	e := c.e.End
	if e.Queued == Finish {
		c.bad(at("end", "queued"), "is finish: allowed are leave, shed")
	}
	if e.InService == Shed {
		c.bad(at("end", "in_service"), "is shed: allowed are leave, finish")
	}
	var all []ledger.WindowSpec
	seen := map[string]bool{}
	for i, w := range c.e.Windows {
		if w.From < 0 || w.To <= w.From || w.Every < 0 {
			c.bad(at("windows", i), "goes from %s to %s: allowed is from 0s, to more than from", w.From, w.To)
		}
		if !validName(w.Name) || seen[w.Name] {
			c.bad(at("windows", i, "name"), "%q: each window has a name of its own, of lower-case letters, digits and .+-_", w.Name)
		}
		seen[w.Name] = true
		all = append(all, w.specs()...)
	}
	if len(all) > ledger.MaxWindows {
		c.bad(at("windows"), "are more than %d", ledger.MaxWindows)
	}
	if err := (ledger.Config{Resolution: c.e.Model.LatencyUnit}).Validate(); err != nil {
		c.bad(at("model", "latency_unit"), "%s", err)
	}
	c.step()
}
