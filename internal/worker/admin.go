package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"shedload/internal/service"
	"shedload/internal/work"
)

const maxFaultBody = 4 << 10

// standing is a fault as it was asked for, until it is over.
type standing struct {
	fault    faultJSON
	from, to work.Instant
}

// faultJSON is a service.Fault with times as people write them.
type faultJSON struct {
	At            text          `json:"at,omitempty"`
	For           text          `json:"for"`
	ServiceTime   *service.Spec `json:"service_time,omitempty"`
	Factor        float64       `json:"factor,omitempty"`
	CapacityShare float64       `json:"capacity_share,omitempty"`
	Pause         bool          `json:"pause,omitempty"`
	Hang          bool          `json:"hang,omitempty"`
	Class         string        `json:"class,omitempty"`
}

// text is a duration such as "10s" in JSON.
type text time.Duration

// MarshalText implements encoding.TextMarshaler.
func (t text) MarshalText() ([]byte, error) { return []byte(time.Duration(t).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *text) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s", b)
	}
	*t = text(d)
	return nil
}

func (f faultJSON) fault() service.Fault {
	return service.Fault{
		At: time.Duration(f.At), For: time.Duration(f.For), ServiceTime: f.ServiceTime, Factor: f.Factor,
		CapacityShare: f.CapacityShare, Pause: f.Pause, Hang: f.Hang, Class: f.Class,
	}
}

// Admin serves GET and PUT /v1/faults, GET /v1/worker, /healthz and /readyz.
func (w *Worker) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "ok\n") })
	mux.HandleFunc("GET /readyz", w.ready)
	mux.HandleFunc("GET /v1/worker", w.show)
	mux.HandleFunc("GET /v1/faults", w.showFaults)
	mux.HandleFunc("PUT /v1/faults", w.putFault)
	if w.config.Guard != nil {
		return w.config.Guard(mux)
	}
	return mux
}

// ready is true while the API server answers, or has not been asked in vain.
func (w *Worker) ready(rw http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	closing, failing := w.closing, w.backoff.tries > 0
	w.mu.Unlock()
	switch {
	case closing:
		problem(rw, http.StatusServiceUnavailable, "shutting down")
	case failing:
		problem(rw, http.StatusServiceUnavailable, "the API server does not answer")
	default:
		_, _ = io.WriteString(rw, "ok\n")
	}
}

func (w *Worker) show(rw http.ResponseWriter, _ *http.Request) {
	n := w.Numbers()
	answer(rw, map[string]any{
		"worker": w.config.Name, "workers": n.Workers, "capacity": n.Capacity, "busy": n.Busy,
		"finished": n.Finished, "late": n.Late, "stale": n.Stale, "exchanges": n.Exchanges, "failures": n.Failures,
		"work_seconds": n.WorkTime.Seconds(), "wasted_work_seconds": n.Wasted.Seconds(),
	})
}

func (w *Worker) showFaults(rw http.ResponseWriter, _ *http.Request) {
	type shown struct {
		faultJSON
		EndsIn text `json:"ends_in"`
	}
	w.mu.Lock()
	now := w.config.Clock()
	w.forgetLocked(now)
	faults := make([]shown, 0, len(w.faults))
	for _, s := range w.faults {
		f := s.fault
		f.At = text(max(0, s.from.Sub(now)))
		faults = append(faults, shown{f, text(s.to.Sub(now))})
	}
	w.mu.Unlock()
	answer(rw, map[string]any{"faults": faults})
}

// putFault adds one fault; its "at" counts from now and may be left out.
func (w *Worker) putFault(rw http.ResponseWriter, r *http.Request) {
	var f faultJSON
	if err := strictJSON(http.MaxBytesReader(rw, r.Body, maxFaultBody), &f); err != nil {
		problem(rw, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	if err := w.AddFault(f.fault()); err != nil {
		problem(rw, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// AddFault brings in a fault whose At counts from now.
func (w *Worker) AddFault(f service.Fault) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.config.Clock()
	if err := w.model.Add(f, now); err != nil {
		return err
	}
	w.forgetLocked(now)
	from := now.Add(f.At)
	w.faults = append(w.faults, standing{from: from, to: from.Add(f.For), fault: faultJSON{
		For: text(f.For), ServiceTime: f.ServiceTime, Factor: f.Factor, CapacityShare: f.CapacityShare,
		Pause: f.Pause, Hang: f.Hang, Class: f.Class,
	}})
	w.wakeLocked()
	return nil
}

// forgetLocked drops the faults that are over.
func (w *Worker) forgetLocked(now work.Instant) {
	kept := w.faults[:0]
	for _, s := range w.faults {
		if s.to > now {
			kept = append(kept, s)
		}
	}
	w.faults = kept
}

// strictJSON decodes exactly one value without unknown fields.
func strictJSON(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("unknown field %s: allowed are at, for, service_time, factor, capacity_share, pause, hang, class", field)
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func answer(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // the values are ours; a broken connection has nobody to tell
}

func problem(rw http.ResponseWriter, status int, detail string) {
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail,
	})
}
