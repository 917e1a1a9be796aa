package api

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"shedload/internal/admit"
	"shedload/internal/queue"
)

// Policy is what can be switched while the server runs, as GET /v1/policy shows
// it. In a PUT a field that is left out stays as it is.
type Policy struct {
	Discipline      *queue.Discipline `json:"discipline,omitempty"`
	DropMargin      *queue.Margin     `json:"drop_margin,omitempty"`
	CodelTarget     *Duration         `json:"codel_target,omitempty"`
	CodelInterval   *Duration         `json:"codel_interval,omitempty"`
	Door            *admit.Spec       `json:"door,omitempty"`
	SilentDrops     *bool             `json:"silent_drops,omitempty"`
	CancelAbandoned *bool             `json:"cancel_abandoned,omitempty"`
	RetryAfter      *Duration         `json:"retry_after,omitempty"`
	DoNotRetry      *bool             `json:"do_not_retry,omitempty"`
}

const policyFields = "discipline, drop_margin, codel_target, codel_interval, door, silent_drops, cancel_abandoned, retry_after, do_not_retry"

// Duration is a time.Duration whose text form is that of Go, such as 70ms.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 || v > time.Hour {
		return errors.New(`"` + string(text) + `": allowed are durations from 0s to 1h, such as 5ms`)
	}
	*d = Duration(v)
	return nil
}

// Policy returns the policy in force.
func (s *Server) Policy() Policy {
	s.lock(s.clock())
	defer s.unlock()
	c, p := s.station.Config(), s.policy
	margin := c.Queue.Discipline.Margin(c.Queue.Margin)
	target, interval, retry := Duration(c.Queue.CodelTarget), Duration(c.Queue.CodelInterval), Duration(c.RetryAfter)
	return Policy{
		Discipline: &c.Queue.Discipline, DropMargin: &margin, CodelTarget: &target, CodelInterval: &interval, Door: &c.Door,
		SilentDrops: &p.silentDrops, CancelAbandoned: &p.cancelAbandoned, RetryAfter: &retry, DoNotRetry: &c.DoNotRetry,
	}
}

// SetPolicy switches what p names. Units that are queued, wait or are in service
// stay. An error changes nothing.
func (s *Server) SetPolicy(p Policy) error {
	now := s.lock(s.clock())
	defer s.unlock()
	c := s.station.Config()
	if p.Discipline != nil {
		c.Queue.Discipline = *p.Discipline
		if strings.Contains(p.Discipline.String(), "(") { // it names a margin or limit of its own
			c.Queue.Margin = nil
		}
	}
	if p.DropMargin != nil {
		c.Queue.Margin = p.DropMargin
	}
	set(&c.Queue.CodelTarget, (*time.Duration)(p.CodelTarget))
	set(&c.Queue.CodelInterval, (*time.Duration)(p.CodelInterval))
	set(&c.Door, p.Door)
	set(&c.RetryAfter, (*time.Duration)(p.RetryAfter))
	set(&c.DoNotRetry, p.DoNotRetry)
	if err := s.station.Configure(c, now); err != nil {
		return err
	}
	set(&s.policy.silentDrops, p.SilentDrops)
	set(&s.policy.cancelAbandoned, p.CancelAbandoned)
	return nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Server) getPolicy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Policy())
}

// putPolicy answers with the policy that is in force then.
func (s *Server) putPolicy(w http.ResponseWriter, r *http.Request) {
	var p Policy
	err := readAdmin(w, r, &p, policyFields)
	if err == nil {
		err = s.SetPolicy(p)
	}
	if err != nil {
		writeProblem(w, bodyStatus(err), "body: "+err.Error())
		return
	}
	now := s.Policy()
	s.log.Info("policy switched", zap.Stringer("discipline", now.Discipline), zap.Stringer("drop_margin", now.DropMargin), zap.Stringer("door", now.Door))
	writeJSON(w, http.StatusOK, now)
}
