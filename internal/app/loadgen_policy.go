package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"shedload/internal/api"
	"shedload/internal/control"
	"shedload/internal/scenario"
)

// adminDefault is where an apiserver's admin listener is when nothing else is said.
const adminDefault = "http://127.0.0.1:9100"

// policyOptions are the flags of the policy commands.
type policyOptions struct{ admin, format string }

func (c *cli) policy() *cobra.Command {
	var o policyOptions
	cmd := &cobra.Command{
		Use: "policy", Short: "Show or switch the policy of a running apiserver",
		Long: `Show or switch the policy of an apiserver while it runs: who is served next, who is
dropped, who is let in. What is queued stays queued.`,
		Example: "  loadgen policy get\n  loadgen policy set discipline=deadline drop_margin=70ms\n  loadgen policy set discipline=adaptive-lifo+controlled-delay --admin http://127.0.0.1:9100",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("policy what? allowed are %s", strings.Join(words(cmd), ", "))
			}
			return errors.New(scenario.Unknown("word", args[0], words(cmd)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&o.admin, "admin", "", "`URL` of the apiserver's admin listener (default SHEDLOAD_API_ADMIN_URL, or "+adminDefault+")")
	cmd.PersistentFlags().StringVar(&o.format, "format", formatTable, "table or json")
	cmd.AddCommand(c.policyGet(&o), c.policySet(&o))
	return cmd
}

func (c *cli) policyGet(o *policyOptions) *cobra.Command {
	return &cobra.Command{
		Use: "get", Short: "Show the policy in force", Args: cobra.NoArgs,
		Long: "Show the policy that an apiserver has in force.", Example: "  loadgen policy get --format json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			remote, err := c.admin(o)
			if err != nil {
				return err
			}
			p, err := remote.Policy(cmd.Context())
			if err != nil {
				return remoteFailure(err)
			}
			return c.showPolicy(p, o.format)
		},
	}
}

func (c *cli) policySet(o *policyOptions) *cobra.Command {
	return &cobra.Command{
		Use: "set NAME=VALUE...", Short: "Switch parts of the policy", Args: cobra.MinimumNArgs(1),
		Long:    "Switch the named parts of the policy; the rest stays as it is. They are switched together, or, where one is wrong, not at all.",
		Example: "  loadgen policy set discipline=lifo\n  loadgen policy set discipline=deadline drop_margin=auto silent_drops=false\n  loadgen policy set door=queue_limit:60",
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			for _, name := range policyNames() {
				out = append(out, name+"=")
			}
			return starting(typed, out), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := parsePolicy(args)
			if err != nil {
				return err
			}
			remote, err := c.admin(o)
			if err != nil {
				return err
			}
			if err := remote.SetPolicy(cmd.Context(), p); err != nil {
				return remoteFailure(err)
			}
			now, err := remote.Policy(cmd.Context())
			if err != nil {
				return remoteFailure(err)
			}
			return c.showPolicy(now, o.format)
		},
	}
}

// admin returns the apiserver that the flag, the environment or the default names.
func (c *cli) admin(o *policyOptions) (*control.Remote, error) {
	if err := validFormat(o.format); err != nil {
		return nil, err
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	url := or(or(o.admin, string(config.APIAdminURL)), adminDefault)
	return control.NewRemote(control.Target{APIAdmin: url, Token: config.AdminToken}), nil
}

// remoteFailure tells a service that is not there from one that does not want what it was told.
func remoteFailure(err error) error {
	if errors.Is(err, control.ErrUnreachable) {
		return invalid(err)
	}
	return err
}

// policyFields are the parts of a policy, by name: their types, as pointers.
func policyFields() ([]string, map[string]reflect.Type) {
	var names []string
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.Policy]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		types[name] = f.Type
	}
	return names, types
}

func policyNames() []string {
	names, _ := policyFields()
	return names
}

// parsePolicy reads NAME=VALUE words and checks them as the server will.
func parsePolicy(args []string) (map[string]any, error) {
	names, types := policyFields()
	p := map[string]any{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		t, known := types[name]
		switch {
		case !known:
			return nil, errors.New(scenario.Unknown("part of the policy", name, names))
		case !ok || value == "":
			return nil, fmt.Errorf("%s: is written %s=VALUE", name, name)
		}
		p[name] = value
		if t.Elem().Kind() == reflect.Bool {
			if value != "true" && value != "false" {
				return nil, fmt.Errorf("%s=%s: allowed are true, false", name, value)
			}
			p[name] = value == "true"
		}
		text, err := json.Marshal(map[string]any{name: p[name]})
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, new(api.Policy)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p, nil
}

// showPolicy prints a policy, its parts in the order in which the server has them.
func (c *cli) showPolicy(p map[string]any, format string) error {
	if format == formatJSON {
		return writeJSON(c, p)
	}
	for _, name := range policyNames() {
		if value, ok := p[name]; ok {
			if _, err := fmt.Fprintf(c.stdout, "%-17s%v\n", name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeJSON prints a value as JSON, indented, without escapes that are for HTML only.
func writeJSON(c *cli, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := c.stdout.Write(b.Bytes())
	return err
}
