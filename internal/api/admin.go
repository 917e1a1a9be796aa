package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"shedload/internal/deadline"
	"shedload/internal/ledger"
)

const (
	maxAdminBody = 64 << 10
	// maxStart bounds how far ahead a run may begin.
	maxStart = time.Hour
)

// Admin serves /v1/policy, /v1/ledger, /healthz and /readyz behind the guard.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /v1/policy", s.getPolicy)
	mux.HandleFunc("PUT /v1/policy", s.putPolicy)
	mux.HandleFunc("GET /v1/ledger", s.getLedger)
	mux.HandleFunc("POST /v1/ledger", s.postLedger)
	return s.config.Guard.Wrap(mux)
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing {
		writeProblem(w, http.StatusServiceUnavailable, "shutting down")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// LedgerView is what GET /v1/ledger serves: the ledger's snapshot, and when it was taken.
type LedgerView struct {
	ledger.Snapshot
	// NowMS is the time since the ledger's instant 0, negative before it.
	NowMS string `json:"now_ms"`
	// HorizonMS is the end of the run; "0" when it has none.
	HorizonMS string `json:"horizon_ms"`
	Workers   int    `json:"workers"`
}

// getLedger answers with the rows from second ?from= on.
func (s *Server) getLedger(w http.ResponseWriter, r *http.Request) {
	from := 0
	if text := r.URL.Query().Get("from"); text != "" {
		var err error
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			writeProblem(w, http.StatusBadRequest, fmt.Sprintf("from: %.32q: allowed is the number of a row, from 0", text))
			return
		}
	}
	writeJSON(w, http.StatusOK, s.LedgerView(from))
}

// LedgerView returns the ledger's snapshot with the rows from second from on.
func (s *Server) LedgerView(from int) LedgerView {
	now := s.lock(s.clock())
	defer s.unlock()
	v := LedgerView{Snapshot: s.run.ledger.Snapshot(from), Workers: s.workers.total()}
	if s.run.begun { // before, what is held is not counted yet
		held := s.heldLocked()
		v.Held = &held
	}
	v.NowMS = signedMs(now.Sub(s.run.spec.base))
	v.HorizonMS = deadline.Format(s.run.spec.horizon)
	return v
}

func signedMs(d time.Duration) string {
	if d < 0 {
		return "-" + deadline.Format(-d)
	}
	return deadline.Format(d)
}

// RunRequest is the body of POST /v1/ledger.
type RunRequest struct {
	StartsInMS Milliseconds        `json:"starts_in_ms"`
	HorizonMS  Milliseconds        `json:"horizon_ms"` // 0: no end
	Windows    []ledger.WindowSpec `json:"windows,omitempty"`
	Force      bool                `json:"force,omitempty"` // also when another run is not over
}

// Milliseconds is a duration whose text form is that of a deadline header.
type Milliseconds time.Duration

// MarshalText implements encoding.TextMarshaler.
func (m Milliseconds) MarshalText() ([]byte, error) {
	return []byte(deadline.Format(time.Duration(m))), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Milliseconds) UnmarshalText(text []byte) error {
	d, err := deadline.ParseMs(string(text))
	*m = Milliseconds(d)
	return err
}

var errBusy = errors.New("another run is not over yet: wait for its horizon, or say \"force\":true")

// postLedger begins a new ledger.
func (s *Server) postLedger(w http.ResponseWriter, r *http.Request) {
	var req RunRequest
	if err := readAdmin(w, r, &req, "starts_in_ms, horizon_ms, windows, force"); err != nil {
		writeProblem(w, bodyStatus(err), "body: "+err.Error())
		return
	}
	instance, err := s.Begin(req)
	switch {
	case errors.Is(err, errBusy):
		writeProblem(w, http.StatusConflict, err.Error())
	case err != nil:
		writeProblem(w, http.StatusBadRequest, "body: "+err.Error())
	default:
		writeJSON(w, http.StatusCreated, map[string]string{"instance": instance})
	}
}

// Begin starts a new ledger and returns its instance. What is pending at its
// instant 0 is carried into it; nothing before that instant is counted.
func (s *Server) Begin(req RunRequest) (string, error) {
	if d := time.Duration(req.StartsInMS); d > maxStart {
		return "", fmt.Errorf("starts_in_ms: %s: allowed are up to %s", deadline.Format(d), deadline.Format(maxStart))
	}
	now := s.lock(s.clock())
	defer s.unlock()
	if !req.Force && !s.run.over(now) {
		return "", errBusy
	}
	spec := s.run.spec
	spec.number++
	spec.base = now.Add(time.Duration(req.StartsInMS))
	spec.horizon, spec.windows = time.Duration(req.HorizonMS), req.Windows
	next, err := newRun(spec)
	if err != nil {
		return "", err
	}
	s.run = next
	s.advanceLocked()
	s.kickLocked()
	return spec.instance(), nil
}

// readAdmin decodes the one JSON object of an admin request.
func readAdmin(w http.ResponseWriter, r *http.Request, into any, allowed string) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAdminBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return jsonError(err, allowed)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the values are ours; a broken connection has nobody to tell
}

func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header()["Content-Type"] = typeProblem
	w.WriteHeader(status)
	_, _ = w.Write(append(appendProblem(nil, status, detail), "}\n"...))
}
