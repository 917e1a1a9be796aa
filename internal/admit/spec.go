package admit

import (
	"fmt"
	"math"
	"time"

	"shedload/internal/work"
)

// Kind names a policy.
type Kind uint8

// The kinds.
const (
	// Open admits everything.
	Open Kind = iota
	// QueueLimit admits while fewer than Limit units are queued.
	QueueLimit
	// InSystem admits while fewer than Limit units are queued or in service.
	InSystem
	// Concurrency is InSystem in which a unit may wait at the door, at most Wait.
	Concurrency
	// Priority has a limit for each class or criticality on what all classes
	// together have queued (or, with Count in_system, have in flight).
	Priority
	// Bulkheads has a limit for each compartment on what that compartment has in
	// flight, and lets a unit wait at the door, at most Wait.
	Bulkheads
	// Infeasible refuses what could not finish before its deadline.
	Infeasible
	// AIMD, Gradient2 and Vegas adapt a limit on queued plus in service.
	AIMD
	Gradient2
	Vegas
	numKinds
)

var kindNames = [numKinds]string{"open", "queue_limit", "in_system", "concurrency", "priority", "bulkheads", "infeasible", "aimd", "gradient2", "vegas"}

// String returns the text form.
func (k Kind) String() string {
	if k >= numKinds {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// MarshalText returns the text form.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts exactly the text forms.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown door %q: allowed are %s", text, listed(kindNames[:]))
}

// Spec describes a door. In a scenario it is a mapping or the text form, in JSON and
// in the environment the text form: the kind, a colon, the limit (adaptive doors:
// the limit to start from), and further settings, as in
//
//	open
//	queue_limit:60
//	concurrency:4,wait=10ms
//	priority:40,other=20
//	priority:5,count=in_system,best_effort=3
//	bulkheads:2,wait=100ms,reports=1
//	infeasible
//	gradient2:8,floor=4,ceiling=200
//	queue_limit:60+infeasible        (several doors: the first refusal wins)
type Spec struct {
	Kind  Kind `yaml:"kind"`
	Limit int  `yaml:"limit,omitempty"`
	// Wait bounds the wait at the door (concurrency, bulkheads).
	Wait time.Duration `yaml:"wait,omitempty"`
	// PerClass holds limits that differ from Limit: by class or criticality
	// (priority), or by compartment (bulkheads). Below 1 it is a share of Limit.
	PerClass map[string]float64 `yaml:"per_class,omitempty"`
	// Count says what a priority door counts: queue (the default) or in_system.
	Count string `yaml:"count,omitempty"`
	// Floor and Ceiling bound an adaptive limit. The default floor is the number
	// of workers, so that the door never idles one; the default ceiling is 1000,
	// and at least ten times the workers.
	Floor   int `yaml:"floor,omitempty"`
	Ceiling int `yaml:"ceiling,omitempty"`
	// Latency above which aimd takes an answer for a drop; 0: none is.
	Latency time.Duration `yaml:"latency,omitempty"`
	// And holds further doors behind this one.
	And []Spec `yaml:"and,omitempty"`
}

// The bounds of a Spec, and the least ceiling of an adaptive limit that names none.
const (
	MaxLimit       = 100_000_000
	MaxWait        = time.Hour
	MaxDoors       = 8
	DefaultCeiling = 1000
)

// field is one setting of a Spec.
type field uint8

const (
	limitField field = 1 << iota
	waitField
	perClassField
	countField
	boundsField // floor and ceiling
	latencyField
)

// allowed lists the settings that each kind has.
var allowed = [numKinds]field{
	Open:        0,
	QueueLimit:  limitField,
	InSystem:    limitField,
	Concurrency: limitField | waitField,
	Priority:    limitField | perClassField | countField,
	Bulkheads:   limitField | perClassField | waitField,
	Infeasible:  0,
	AIMD:        limitField | boundsField | latencyField,
	Gradient2:   limitField | boundsField,
	Vegas:       limitField | boundsField,
}

// Scaled returns s with all times multiplied by k > 0.
func (s Spec) Scaled(k float64) Spec {
	scale := func(d time.Duration) time.Duration { return time.Duration(math.Round(float64(float64(d) * k))) }
	s.Wait, s.Latency = scale(s.Wait), scale(s.Latency)
	and := s.And
	s.And = nil
	for _, next := range and {
		s.And = append(s.And, next.Scaled(k))
	}
	return s
}

// New returns the policy, or says what is wrong with s.
func (s Spec) New(classes []work.Class) (Policy, error) {
	if err := s.Validate(classes); err != nil {
		return nil, err
	}
	if len(s.And) == 0 {
		return s.single(classes), nil
	}
	c := chain{s.single(classes)}
	for _, next := range s.And {
		c = append(c, next.single(classes))
	}
	return c, nil
}

// single returns the policy without And; s is valid.
func (s Spec) single(classes []work.Class) Policy {
	switch s.Kind {
	case QueueLimit:
		return queueLimit(s.Limit)
	case InSystem:
		return inSystem(s.Limit)
	case Concurrency:
		return concurrency{limit: s.Limit, wait: s.Wait}
	case Priority:
		return newPriority(s, classes)
	case Bulkheads:
		return newBulkheads(s, classes)
	case Infeasible:
		return infeasible{}
	case AIMD:
		return &aimd{adaptive: newAdaptive(s), latency: s.Latency}
	case Gradient2:
		return &gradient2{adaptive: newAdaptive(s)}
	case Vegas:
		return &vegas{adaptive: newAdaptive(s)}
	default:
		return open{}
	}
}
