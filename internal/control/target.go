package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/service"
)

// Target is a running system: base URLs, and the token for changes.
type Target struct {
	Public       string // the apiserver's public listener; for plain clients any URL
	APIAdmin     string // "" leaves the server's view out
	BackendAdmin string // "" cannot take faults
	Token        string
}

// Remote speaks to the admin listeners of a target. Safe for concurrent use.
type Remote struct {
	api, backend remoteService
}

// NewRemote returns a Remote for t.
func NewRemote(t Target) *Remote {
	return &Remote{api: newService("apiserver", t.APIAdmin, t.Token), backend: newService("backend", t.BackendAdmin, t.Token)}
}

// Ready returns nil when the apiserver, and the backend if its address is known,
// say that they are ready.
func (r *Remote) Ready(ctx context.Context) error {
	err := r.api.call(ctx, http.MethodGet, "/readyz", nil, nil)
	if r.backend.url != "" {
		err = errors.Join(err, r.backend.call(ctx, http.MethodGet, "/readyz", nil, nil))
	}
	return err
}

// LedgerView is the server's view of a run, and when it was taken.
type LedgerView struct {
	ledger.Snapshot
	NowMS   string `json:"now_ms"` // since instant 0, negative before it
	Workers int    `json:"workers"`
}

// Now is the time since instant 0.
func (v LedgerView) Now() time.Duration {
	ms, _ := strconv.ParseFloat(v.NowMS, 64) // a server that does not tell stands at its start
	return time.Duration(ms * float64(time.Millisecond))
}

// Ledger returns the server's view with the rows from second from on.
func (r *Remote) Ledger(ctx context.Context, from int) (LedgerView, error) {
	var v LedgerView
	err := r.api.call(ctx, http.MethodGet, "/v1/ledger?from="+strconv.Itoa(from), nil, &v)
	return v, err
}

// zero returns instant 0 of the server's ledger on our clock. Of a few exchanges
// the fastest tells best; it is off by half its time at most.
func (r *Remote) zero(ctx context.Context) (time.Time, error) {
	var zero time.Time
	fastest := time.Hour
	for range 5 {
		asked := time.Now()
		v, err := r.Ledger(ctx, 0)
		took := time.Since(asked)
		if err != nil {
			return zero, err
		}
		if took < fastest {
			fastest, zero = took, asked.Add(took/2-v.Now())
		}
	}
	return zero, nil
}

// Begin is the start of a run on a server.
type Begin struct {
	StartsIn time.Duration // until instant 0
	Horizon  time.Duration
	Windows  []ledger.WindowSpec
	Force    bool // also while another run is under way
}

// Begin starts a new ledger on the server.
func (r *Remote) Begin(ctx context.Context, b Begin) error {
	body := map[string]any{"starts_in_ms": ms(b.StartsIn), "horizon_ms": ms(b.Horizon)}
	if len(b.Windows) > 0 {
		body["windows"] = b.Windows
	}
	if b.Force {
		body["force"] = true
	}
	return r.api.call(ctx, http.MethodPost, "/v1/ledger", body, nil)
}

// Policy returns the policy in force, as the server writes it.
func (r *Remote) Policy(ctx context.Context) (map[string]any, error) {
	var p map[string]any
	err := r.api.call(ctx, http.MethodGet, "/v1/policy", nil, &p)
	return p, err
}

// SetPolicy changes the named parts of the policy while the server runs.
func (r *Remote) SetPolicy(ctx context.Context, p map[string]any) error {
	return r.api.call(ctx, http.MethodPut, "/v1/policy", p, nil)
}

// AddFault brings in a fault whose At counts from now.
func (r *Remote) AddFault(ctx context.Context, f service.Fault) error {
	body, err := faultBody(f)
	if err != nil {
		return err
	}
	return r.backend.call(ctx, http.MethodPut, "/v1/faults", body, nil)
}

// faultBody writes a fault with its times as people write them.
func faultBody(f service.Fault) (map[string]any, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("fault: %w", err)
	}
	var body map[string]any
	if err := json.Unmarshal(b, &body); err != nil {
		return nil, fmt.Errorf("fault: %w", err)
	}
	body["at"], body["for"] = f.At.String(), f.For.String()
	return body, nil
}

// ms is a duration in milliseconds as the wire has it: decimal text.
func ms(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64)
}
