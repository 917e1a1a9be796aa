package control

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Span is a duration that JSON has as people write it, like "10s".
type Span time.Duration

// MarshalText returns the text form.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads the text form.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s", text)
	}
	*s = Span(d)
	return nil
}

// SpikeRequest is the body of POST /v1/spikes: a rate in requests a second, or a
// factor on the rate, for so long; of one client, or of all.
type SpikeRequest struct {
	Rate   float64 `json:"rate,omitempty"`
	Factor float64 `json:"factor,omitempty"`
	For    Span    `json:"for"`
	Client string  `json:"client,omitempty"`
}

// ClientRate is the rate of one client outside spikes, in requests a second: an
// element of GET /v1/load, and the body of PUT /v1/load.
type ClientRate struct {
	Client string  `json:"client,omitempty"`
	Rate   float64 `json:"rate"`
}

// Load is what GET /v1/load shows: what is asked for right now, and of whom outside spikes.
type Load struct {
	Rate    float64      `json:"rate"`
	Phase   string       `json:"phase"`
	Clients []ClientRate `json:"clients"`
}

// RunStatus is what GET /v1/run shows.
type RunStatus struct {
	Scenario string       `json:"scenario"`
	Variant  string       `json:"variant"`
	UptimeS  float64      `json:"uptime_s"`
	Phase    string       `json:"phase"`
	Spike    *SpikeStatus `json:"spike,omitempty"` // the last one
	Lanes    []LaneStatus `json:"lanes"`
}

// SpikeStatus is a spike, and how long it still lasts; "0s" when it is over.
type SpikeStatus struct {
	SpikeRequest
	BeganAgo Span `json:"began_ago"`
	EndsIn   Span `json:"ends_in"`
}

// LaneStatus is the last full second of one lane, and totals since the start.
type LaneStatus struct {
	Run           string `json:"run"`
	State         string `json:"state"`
	Requests      int64  `json:"requests"`
	Offered       int64  `json:"offered"`
	GoodputClient int64  `json:"goodput_client"`
	TimedOut      int64  `json:"timed_out"`
	InFlight      int    `json:"in_flight"`
	MissedTotal   int64  `json:"missed_total"`
	// Server is absent while the server's view is not known, and Problem says why.
	Server  *ServerStatus `json:"server,omitempty"`
	Problem string        `json:"problem,omitempty"`
}

// ServerStatus is the last full second of a server.
type ServerStatus struct {
	Throughput int64   `json:"throughput"`
	Goodput    int64   `json:"goodput"`
	Queue      int64   `json:"queue"`
	OldestAgeS float64 `json:"oldest_age_s"`
}

// Controller speaks to a loadgen that serves. Safe for concurrent use.
type Controller struct{ service remoteService }

// NewController returns a Controller for the control listener at a base URL.
func NewController(base, token string) *Controller {
	return &Controller{newService("loadgen", base, token)}
}

// Spike asks for a spike and returns it as it began.
func (c *Controller) Spike(ctx context.Context, r SpikeRequest) (SpikeStatus, error) {
	var s SpikeStatus
	err := c.service.call(ctx, http.MethodPost, "/v1/spikes", r, &s)
	return s, err
}

// Load returns the load that is played.
func (c *Controller) Load(ctx context.Context) (Load, error) {
	var l Load
	err := c.service.call(ctx, http.MethodGet, "/v1/load", nil, &l)
	return l, err
}

// SetLoad changes the rate of a client, or of the only one when it is not named.
func (c *Controller) SetLoad(ctx context.Context, r ClientRate) (Load, error) {
	var l Load
	err := c.service.call(ctx, http.MethodPut, "/v1/load", r, &l)
	return l, err
}

// Status returns the last second.
func (c *Controller) Status(ctx context.Context) (RunStatus, error) {
	var s RunStatus
	err := c.service.call(ctx, http.MethodGet, "/v1/run", nil, &s)
	return s, err
}

// Follow hands the status of each second to each until that says that it has seen
// enough, or ctx ends.
func (c *Controller) Follow(ctx context.Context, each func(RunStatus) (enough bool)) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		s, err := c.Status(ctx)
		if err != nil {
			return err
		}
		if each(s) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
