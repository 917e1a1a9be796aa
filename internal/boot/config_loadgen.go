package boot

import "strings"

// Loadgen is the configuration of the load generator. Flags of the command line
// come before it.
type Loadgen struct {
	TargetURL       BaseURL `env:"TARGET_URL" help:"the apiserver's public listener; without it, run starts its own"`
	APIAdminURL     BaseURL `env:"API_ADMIN_URL" help:"the apiserver's admin listener, for a target"`
	BackendAdminURL BaseURL `env:"BACKEND_ADMIN_URL" help:"the backend's admin listener, for a target's faults"`
	Lanes           Lanes   `env:"LANES" help:"several targets at once that get identical arrivals, instead of one: RUN=TARGET_URL[+ADMIN_URL],..."`
	ControlAddr     Addr    `env:"CONTROL_ADDR" envDefault:"127.0.0.1:9102" help:"where serve listens for spikes, and for metrics and health"`
	ControlURL      BaseURL `env:"CONTROL_URL" envDefault:"http://127.0.0.1:9102" help:"where spike and watch find a loadgen that serves"`
	AdminToken      string  `env:"ADMIN_TOKEN" secret:"true" help:"bearer token for changes through admin and control listeners"`
	AdminOpen       bool    `env:"ADMIN_OPEN" envDefault:"false" help:"allow changes of the load from other machines without a token"`
	Scenario        string  `env:"SCENARIO" envDefault:"shed-your-load" help:"scenario, or scenario/variant, whose clients serve plays"`
	Run             string  `env:"RUN" envDefault:"live" allowed:"lower-case letters, digits and .+-_" help:"value of the run label, for lanes side by side"`

	Common
}

// Validate checks what the types do not.
func (c *Loadgen) Validate() error {
	if !label(c.Run) {
		return Wrong("RUN", c.Run, "allowed: lower-case letters, digits and .+-_")
	}
	return nil
}

// label reports whether s is a name as scenarios have them: usable as a label,
// in file names and in the text forms of lists.
func label(s string) bool {
	const first, rest = "abcdefghijklmnopqrstuvwxyz0123456789", ".+-_"
	for i, r := range s {
		if !strings.ContainsRune(first, r) && (i == 0 || !strings.ContainsRune(rest, r)) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
