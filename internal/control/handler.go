package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Handler serves /v1/spikes, /v1/load, /v1/run, /healthz and /readyz.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /v1/run", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.status()) })
	mux.HandleFunc("GET /v1/load", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.load()) })
	mux.HandleFunc("PUT /v1/load", s.putLoad)
	mux.HandleFunc("POST /v1/spikes", s.postSpike)
	if s.config.Guard != nil {
		return s.config.Guard(mux)
	}
	return mux
}

func (s *Service) ready(w http.ResponseWriter, _ *http.Request) {
	if !s.begun(time.Now()) {
		problem(w, http.StatusServiceUnavailable, errNotBegun.Error())
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

func (s *Service) postSpike(w http.ResponseWriter, r *http.Request) {
	var request SpikeRequest
	if err := strictJSON(w, r, &request, "rate, factor, for, client"); err != nil {
		problem(w, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	switch err := s.Spike(request); {
	case errors.Is(err, errBusy), errors.Is(err, errNotBegun):
		problem(w, http.StatusConflict, err.Error())
	case err != nil:
		problem(w, http.StatusBadRequest, "body: "+err.Error())
	default:
		answer(w, http.StatusCreated, s.status().Spike)
	}
}

func (s *Service) putLoad(w http.ResponseWriter, r *http.Request) {
	var request ClientRate
	err := strictJSON(w, r, &request, "client, rate")
	if err == nil {
		err = s.SetRate(request.Client, request.Rate)
	}
	if err != nil {
		problem(w, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	answer(w, http.StatusOK, s.load())
}

func (s *Service) load() Load {
	stats := s.lanes[0].generator.Stats()
	l := Load{Rate: stats.Rate, Phase: stats.Phase, Clients: []ClientRate{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.config.Plan.Clients {
		if rate, open := s.rates[c.Name]; open {
			l.Clients = append(l.Clients, ClientRate{c.Name, rate})
		}
	}
	return l
}

func (s *Service) status() RunStatus {
	r := RunStatus{
		Scenario: s.config.Plan.Scenario, Variant: s.config.Plan.Variant, Phase: s.lanes[0].generator.Stats().Phase,
	}
	for i := range s.lanes {
		r.Lanes = append(r.Lanes, s.Lane(i).status())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.start.IsZero() {
		r.UptimeS = max(0, now.Sub(s.start).Seconds())
	}
	if s.spike != nil {
		r.Spike = &SpikeStatus{s.spike.request, Span(now.Sub(s.spike.from)), Span(max(0, s.spike.to.Sub(now)))}
	}
	return r
}

func (l LaneReading) status() LaneStatus {
	status := LaneStatus{
		Run: l.Run, State: l.State, Requests: l.Second.Requests, Offered: l.Second.Offered,
		GoodputClient: l.Second.GoodputClient, TimedOut: l.Second.TimedOut, InFlight: l.Stats.InFlight,
	}
	for _, t := range l.Totals {
		status.MissedTotal += t.Missed
	}
	switch {
	case l.ServerErr != nil:
		status.Problem = l.ServerErr.Error()
	case l.HasServer:
		status.Server = &ServerStatus{l.Server.Throughput, l.Server.Goodput, l.Server.Queue, l.Server.OldestAge.Seconds()}
	}
	return status
}

const maxBody = 4 << 10

// strictJSON decodes exactly one object without unknown fields.
func strictJSON(w http.ResponseWriter, r *http.Request, into any, allowed string) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("unknown field %s: allowed are %s", field, allowed)
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the values are ours; a broken connection has nobody to tell
}

// problem writes a problem document (RFC 9457).
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail})
}
