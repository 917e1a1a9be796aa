package control

import (
	"context"
	"net/http"

	"shedload/internal/service"
)

// StandingFault is a fault of a backend that has not ended: as AddFault takes it,
// and for how much longer.
type StandingFault struct {
	At            string        `json:"at,omitempty"`
	For           string        `json:"for"`
	ServiceTime   *service.Spec `json:"service_time,omitempty"`
	Factor        float64       `json:"factor,omitempty"`
	CapacityShare float64       `json:"capacity_share,omitempty"`
	Pause         bool          `json:"pause,omitempty"`
	Hang          bool          `json:"hang,omitempty"`
	Class         string        `json:"class,omitempty"`
	EndsIn        string        `json:"ends_in"`
}

// Faults returns the backend's faults that have not ended, in the order in which
// they were brought in.
func (r *Remote) Faults(ctx context.Context) ([]StandingFault, error) {
	var v struct {
		Faults []StandingFault `json:"faults"`
	}
	err := r.backend.call(ctx, http.MethodGet, "/v1/faults", nil, &v)
	return v.Faults, err
}
