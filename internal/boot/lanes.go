package boot

import (
	"fmt"
	"slices"
	"strings"
)

// Lane is one of several targets that get identical arrivals side by side.
type Lane struct {
	Run    string  // its name: the value of the run label
	Target BaseURL // the apiserver's public listener
	Admin  BaseURL // its admin listener; "" not known
}

// Lanes have the text form RUN=TARGET_URL[+ADMIN_URL], separated by commas.
type Lanes []Lane

// UnmarshalText accepts the text form; names are unique.
func (l *Lanes) UnmarshalText(b []byte) error {
	var lanes Lanes
	for part := range strings.SplitSeq(string(b), ",") {
		run, urls, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || !label(run) || slices.ContainsFunc(lanes, func(o Lane) bool { return o.Run == run }) {
			return fmt.Errorf("lane %q: allowed is RUN=TARGET_URL[+ADMIN_URL] with a name of its own, like fifo=http://a:8080+http://a:9100", part)
		}
		target, admin, both := strings.Cut(urls, "+")
		lane := Lane{Run: run}
		if err := lane.Target.UnmarshalText([]byte(target)); err != nil {
			return fmt.Errorf("lane %q: %w", run, err)
		}
		if both {
			if err := lane.Admin.UnmarshalText([]byte(admin)); err != nil {
				return fmt.Errorf("lane %q: %w", run, err)
			}
		}
		lanes = append(lanes, lane)
	}
	*l = lanes
	return nil
}

// MarshalText returns the text form.
func (l Lanes) MarshalText() ([]byte, error) {
	parts := make([]string, len(l))
	for i, lane := range l {
		parts[i] = lane.Run + "=" + string(lane.Target)
		if lane.Admin != "" {
			parts[i] += "+" + string(lane.Admin)
		}
	}
	return []byte(strings.Join(parts, ",")), nil
}
