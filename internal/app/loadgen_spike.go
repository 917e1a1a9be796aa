package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"shedload/internal/control"
	"shedload/internal/ledger"
	"shedload/internal/report"
)

// The spike that is asked for when nothing else is said.
const (
	spikeRate = 400
	spikeFor  = 10 * time.Second
)

// How long a spike is followed after its end: until the service has been healthy
// for a while, or this long.
const (
	followHealthy = 5 // seconds in a row
	followMost    = time.Minute
)

// steering is how spike and watch find the loadgen that serves.
type steering struct{ url, format string }

func (s *steering) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.url, "control", "", "`URL` of the loadgen that serves (default SHEDLOAD_CONTROL_URL, or http://127.0.0.1:9102)")
	cmd.Flags().StringVar(&s.format, "format", formatTable, "table or json (one object a line)")
	completeFlags(cmd)
}

func (s *steering) controller(c *cli) (*control.Controller, error) {
	if err := validFormat(s.format); err != nil {
		return nil, err
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return control.NewController(or(s.url, string(config.ControlURL)), config.AdminToken), nil
}

func (c *cli) spike() *cobra.Command {
	var s steering
	r := control.SpikeRequest{}
	length, follow := spikeFor, false
	cmd := &cobra.Command{
		Use: "spike", Short: "Send a spike of load through a loadgen that serves", Args: cobra.NoArgs,
		Long: `Ask a loadgen that serves for a spike: new requests at a rate, or at a factor of what they
are, for a while. With --follow, show what comes of it, until the service has been healthy
for some seconds or a minute after the spike.`,
		Example: "  loadgen spike\n  loadgen spike --rate 400 --for 10s --follow\n  loadgen spike --factor 5 --control http://127.0.0.1:9102",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.Rate < 0 || r.Factor < 0 || length <= 0 {
				return errors.New("--rate, --factor and --for must be more than 0")
			}
			if r.Rate == 0 && r.Factor == 0 {
				r.Rate = spikeRate
			}
			r.For = control.Span(length)
			controller, err := s.controller(c)
			if err != nil {
				return err
			}
			return c.sendSpike(cmd.Context(), controller, r, follow, &s)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&r.Rate, "rate", 0, fmt.Sprintf("new requests per second (default %d)", spikeRate))
	f.Float64Var(&r.Factor, "factor", 0, "times the rate outside the spike, instead of a rate")
	f.DurationVar(&length, "for", spikeFor, "how long it lasts")
	f.StringVar(&r.Client, "client", "", "of this client alone (default all)")
	f.BoolVar(&follow, "follow", false, "show what comes of it")
	cmd.MarkFlagsMutuallyExclusive("rate", "factor")
	s.flags(cmd)
	return cmd
}

func (c *cli) sendSpike(ctx context.Context, controller *control.Controller, r control.SpikeRequest, follow bool, s *steering) error {
	if _, err := controller.Spike(ctx, r); err != nil {
		return remoteFailure(err)
	}
	what := fmt.Sprintf("%s/s", report.Count(int64(r.Rate)))
	if r.Rate == 0 {
		what = fmt.Sprintf("%g times the load", r.Factor)
	}
	c.say("spike: %s for %s", what, time.Duration(r.For))
	if !follow {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.For)+followMost)
	defer cancel()
	healthy, state, over := 0, "", 0
	err := controller.Follow(ctx, func(status control.RunStatus) bool {
		c.status(status, s.format)
		if status.Phase == control.SpikePhase {
			return false
		}
		over++
		if state = worstState(status); state == ledger.Healthy {
			healthy++
		} else {
			healthy = 0
		}
		return healthy == followHealthy
	})
	switch {
	case err == nil:
		c.say("healthy again %d s after the spike", over-healthy)
	case errors.Is(err, context.DeadlineExceeded):
		c.say("the spike ended %d s ago; the service is still %s", over, state)
	default:
		return remoteFailure(err)
	}
	return nil
}

// worstState is the state of the first lane that is not healthy.
func worstState(s control.RunStatus) string {
	for _, l := range s.Lanes {
		if l.State != ledger.Healthy {
			return l.State
		}
	}
	return ledger.Healthy
}

func (c *cli) watch() *cobra.Command {
	var s steering
	cmd := &cobra.Command{
		Use: "watch", Short: "Show the load of a loadgen that serves, second by second", Args: cobra.NoArgs,
		Long:    "Show what a loadgen that serves asks for and gets, a line each second, until interrupted.",
		Example: "  loadgen watch\n  loadgen watch --format json | jq .lanes[0].state",
		RunE: func(cmd *cobra.Command, _ []string) error {
			controller, err := s.controller(c)
			if err != nil {
				return err
			}
			err = controller.Follow(cmd.Context(), func(status control.RunStatus) bool {
				c.status(status, s.format)
				return false
			})
			if cmd.Context().Err() != nil {
				return nil // an interrupt is how watching ends
			}
			return remoteFailure(err)
		},
	}
	s.flags(cmd)
	return cmd
}

// status prints the last second of each lane.
func (c *cli) status(s control.RunStatus, format string) {
	if format == formatJSON {
		_ = json.NewEncoder(c.stdout).Encode(s) // as for the lines: nobody is left to tell
		return
	}
	for _, l := range s.Lanes {
		server := "the server's view is not known"
		if l.Server != nil {
			server = fmt.Sprintf("throughput %4s/s  queue %7s", report.Count(l.Server.Throughput), report.Count(l.Server.Queue))
		}
		fmt.Fprintf(c.stdout, "%6.0f s  %-8s  %-9s offered %6s/s  goodput %4s/s  %s  %s\n",
			s.UptimeS, l.Run, or(s.Phase, "baseline"), report.Count(l.Offered), report.Count(l.GoodputClient), server, l.State)
	}
}
