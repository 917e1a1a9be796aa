package population

import (
	"fmt"
	"time"

	"shedload/internal/draw"
	"shedload/internal/retry"
	"shedload/internal/service"
)

// Spec is the behaviour of a group.
type Spec struct {
	Name string
	// Patience is how long one attempt is waited for; above 0.
	Patience time.Duration
	// RequestDeadline is shared by all attempts of a request; 0 means none.
	RequestDeadline time.Duration
	Retry           retry.Spec
	Gates           []retry.GateSpec
	// Users closes the loop: so many users, with one request each at a time. 0
	// leaves it open.
	Users int
	// Think is the pause between the end of a user's request and its next one, and
	// before its first.
	Think service.Spec
}

// MaxUsers bounds the users of a closed loop.
const MaxUsers = 10_000_000

// Validate says what is wrong with s, by the names of a scenario file.
func (s Spec) Validate() error {
	_, err := s.policy()
	return err
}

func (s Spec) policy() (*retry.Policy, error) {
	switch {
	case s.Users < 0 || s.Users > MaxUsers:
		return nil, fmt.Errorf("users: %d is outside 0 to %d", s.Users, MaxUsers)
	case s.Users > 0 && s.Think.IsZero():
		return nil, fmt.Errorf("think_time: users that do not pause ask again at the very instant of a refusal, for ever: allowed is a time above 0s")
	case s.Users == 0 && !s.Think.IsZero():
		return nil, fmt.Errorf("think_time: only users think: allowed with users")
	}
	if err := s.Think.Validate(); err != nil {
		return nil, fmt.Errorf("think_time: %w", err)
	}
	return retry.NewPolicy(s.Retry, s.Patience, s.RequestDeadline, s.Gates)
}

// Identity tells a group which of a scenario's groups it is.
type Identity struct {
	// Client is the index of the group.
	Client uint16
	// Part and Parts spread a group over client processes: this one is number Part
	// of Parts (0 means 1) and has the requests, and so the users, whose number
	// modulo Parts is Part. Spec.Users counts those of all parts.
	Part, Parts uint16
	Seed        draw.Seed
	// ClassOf returns the class of a request of a closed loop; nil means class 0.
	ClassOf func(request uint64) uint8
}

// RequestID returns the number of a client's n-th request: the client in the upper
// 16 bits, n in the lower 48.
func RequestID(client uint16, n uint64) uint64 { return uint64(client)<<48 | n&(1<<48-1) }
