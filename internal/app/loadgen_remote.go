package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"shedload/internal/control"
)

// remoteOptions name a running system.
type remoteOptions struct {
	target, admin, backendAdmin string
	force, yesRemote            bool
	plain                       plainOptions

	system *control.Target // what they resolve to; nil: none, the run starts its own
}

func (o *remoteOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.target, "target", "", "`URL` of a running apiserver (or, for plain clients, of any service), instead of starting one")
	f.StringVar(&o.admin, "admin", "", "`URL` of its admin listener; without it there is only the clients' view")
	f.StringVar(&o.backendAdmin, "backend-admin", "", "`URL` of the backend's admin listener, for scenarios with faults")
	f.BoolVar(&o.force, "force", false, "begin although another run is under way at the target")
	f.BoolVar(&o.yesRemote, "yes-remote", false, "allow a target that is neither on this machine nor in a private network")
	o.plain.flags(cmd)
}

// resolve finds the target that flags or the environment name.
func (o *remoteOptions) resolve(ctx context.Context, c *cli) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	t := control.Target{
		Public: or(o.target, string(config.TargetURL)), APIAdmin: or(o.admin, string(config.APIAdminURL)),
		BackendAdmin: or(o.backendAdmin, string(config.BackendAdminURL)), Token: config.AdminToken,
	}
	if t.Public == "" {
		if o.admin != "" || o.backendAdmin != "" {
			return errors.New("--admin belongs to a --target")
		}
		return nil
	}
	for flag, text := range map[string]string{"--target": t.Public, "--admin": t.APIAdmin, "--backend-admin": t.BackendAdmin} {
		if err := guard(ctx, flag, text, o.yesRemote); err != nil {
			return err
		}
	}
	if t.APIAdmin == "" {
		c.say("no --admin: the clients' view alone is measured")
	}
	o.system = &t
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// lookupTimeout bounds the look-up of a target's name.
const lookupTimeout = 5 * time.Second

// guard keeps load away from machines that are somebody else's, unless the user says
// that it is meant.
func guard(ctx context.Context, flag, text string, yes bool) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s %q: allowed is a URL like http://127.0.0.1:8080", flag, text)
	}
	if yes {
		return nil
	}
	addresses, err := lookup(ctx, u.Hostname())
	if err != nil {
		return invalid(fmt.Errorf("%s %s: %w: %w", flag, text, control.ErrUnreachable, err))
	}
	for _, a := range addresses {
		if !near(a) {
			return fmt.Errorf("%s %s: %s is neither on this machine nor in a private network; overloading it needs --yes-remote", flag, text, a)
		}
	}
	return nil
}

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func near(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
}
