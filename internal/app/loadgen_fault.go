package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shedload/internal/control"
	"shedload/internal/service"
)

// backendAdminDefault is where a backend's admin listener is when nothing else is said.
const backendAdminDefault = "http://127.0.0.1:9101"

// faultFor is how long a fault lasts when nothing else is said.
const faultFor = 10 * time.Second

// faultOptions are the flags of fault.
type faultOptions struct {
	service.Fault
	serviceTime   string
	admin, format string
}

// effects are the flags of which one makes a fault.
var effects = []string{"service-time", "factor", "capacity-share", "pause", "hang"}

func (c *cli) fault() *cobra.Command {
	o := faultOptions{Fault: service.Fault{For: faultFor}}
	cmd := &cobra.Command{
		Use: "fault", Short: "Make a running backend slow, smaller, or hang for a while", Args: cobra.NoArgs,
		Long: `Bring a fault into a backend while it runs: another service time or a multiple of it, fewer
workers, a pause like that of a garbage collection, or calls that hang. It ends by itself.
Without any of these flags, show the faults that have not ended.`,
		Example: `  loadgen fault --capacity-share 0.4 --for 20s
  loadgen fault --factor 3 --for 1s
  loadgen fault --service-time lognormal:150ms,p99=600ms --class reports
  loadgen fault --pause --for 2s
  loadgen fault`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			remote, err := c.backendAdmin(&o)
			if err != nil {
				return err
			}
			if !anyChanged(cmd, effects) {
				if anyChanged(cmd, []string{"for", "in", "class"}) {
					return fmt.Errorf("which fault? one of --%s says", strings.Join(effects, ", --"))
				}
				return c.showFaults(cmd.Context(), remote, &o)
			}
			return c.bringIn(cmd.Context(), remote, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.serviceTime, "service-time", "", "service time of what starts meanwhile: 150ms, exp:50ms, lognormal:50ms,p99=200ms")
	f.Float64Var(&o.Factor, "factor", 0, "what the service time of what starts meanwhile is multiplied by")
	f.Float64Var(&o.CapacityShare, "capacity-share", 0, "share of the workers that may start work, above 0 to 1")
	f.BoolVar(&o.Pause, "pause", false, "nothing starts, and what is being worked on gets no further")
	f.BoolVar(&o.Hang, "hang", false, "what starts meanwhile does not end before the fault does")
	f.StringVar(&o.Class, "class", "", "of this class alone (service time, factor, hang)")
	f.DurationVar(&o.For, "for", faultFor, "how long it lasts")
	f.DurationVar(&o.At, "in", 0, "how long from now it begins")
	f.StringVar(&o.admin, "backend-admin", "", "`URL` of the backend's admin listener (default SHEDLOAD_BACKEND_ADMIN_URL, or "+backendAdminDefault+")")
	f.StringVar(&o.format, "format", formatTable, "table or json")
	cmd.MarkFlagsMutuallyExclusive(effects...)
	completeFlags(cmd)
	return cmd
}

func anyChanged(cmd *cobra.Command, flags []string) bool {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// backendAdmin returns the backend that the flag, the environment or the default names.
func (c *cli) backendAdmin(o *faultOptions) (*control.Remote, error) {
	if err := validFormat(o.format); err != nil {
		return nil, err
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	url := or(or(o.admin, string(config.BackendAdminURL)), backendAdminDefault)
	return control.NewRemote(control.Target{BackendAdmin: url, Token: config.AdminToken}), nil
}

// bringIn checks the fault as far as it can be from here, and sends it. Which classes
// there are only the backend knows.
func (c *cli) bringIn(ctx context.Context, remote *control.Remote, o *faultOptions) error {
	if o.serviceTime != "" {
		o.ServiceTime = new(service.Spec)
		if err := o.ServiceTime.UnmarshalText([]byte(o.serviceTime)); err != nil {
			return fmt.Errorf("--service-time: %w", err)
		}
	}
	if err := o.Validate([]string{o.Class}); err != nil {
		return err
	}
	if err := remote.AddFault(ctx, o.Fault); err != nil {
		return remoteFailure(err)
	}
	c.say("fault: %s", describeFault(o.Fault))
	return nil
}

// describeFault says what a fault does, and when.
func describeFault(f service.Fault) string {
	what := "calls hang"
	switch {
	case f.ServiceTime != nil:
		what = "service time " + f.ServiceTime.String()
	case f.Factor != 0:
		what = fmt.Sprintf("service time x %g", f.Factor)
	case f.CapacityShare != 0:
		what = fmt.Sprintf("%g %% of the workers", 100*f.CapacityShare)
	case f.Pause:
		what = "all work pauses"
	}
	if f.Class != "" {
		what += " for class " + f.Class
	}
	if f.At > 0 {
		what += fmt.Sprintf(", in %s", f.At)
	}
	return fmt.Sprintf("%s, for %s", what, f.For)
}

// showFaults prints the faults that have not ended.
func (c *cli) showFaults(ctx context.Context, remote *control.Remote, o *faultOptions) error {
	faults, err := remote.Faults(ctx)
	if err != nil {
		return remoteFailure(err)
	}
	if o.format == formatJSON {
		return writeJSON(c, faults)
	}
	if len(faults) == 0 {
		c.say("no fault")
	}
	for _, s := range faults {
		f := service.Fault{ServiceTime: s.ServiceTime, Factor: s.Factor, CapacityShare: s.CapacityShare, Pause: s.Pause, Hang: s.Hang, Class: s.Class}
		for _, span := range []struct {
			to   *time.Duration
			text string
		}{{&f.At, s.At}, {&f.For, s.For}} {
			*span.to, _ = time.ParseDuration(span.text) // what cannot be read is shown as nothing
		}
		f.At = f.At.Round(time.Millisecond)
		if _, err := fmt.Fprintf(c.stdout, "%s (ends in %s)\n", describeFault(f), shortened(s.EndsIn)); err != nil {
			return err
		}
	}
	return nil
}

// shortened writes a duration to a tenth of a second.
func shortened(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return text
	}
	return d.Round(100 * time.Millisecond).String()
}
