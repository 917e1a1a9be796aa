package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"shedload/internal/boot"
	"shedload/internal/report"
	"shedload/internal/scenario"
)

// Exit codes of loadgen, beside those that all programs have.
const (
	exitExpectation = 1   // an expectation was not met
	exitInvalid     = 3   // the run is not a result
	exitInterrupted = 130 // by a signal
)

// failure is an error that knows its exit code. Any other error of a command is
// one of usage.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func invalid(err error) error { return failure{exitInvalid, err} }

// cli is what the commands share.
type cli struct {
	environ        []string
	stdout, stderr io.Writer
	now            func() time.Time
	style          report.Style // of stdout
	terminal       bool         // stderr is one
	color          bool         // on stderr
	quiet          bool
	// code is the exit code where a command has no error, but not 0 either.
	code int
}

// RunLoadgen is the command line of loadgen. It returns the exit code: 0 fine, 1 an
// expectation failed, 2 usage or a bad file, 3 the run is not valid, 130 interrupted.
//
// Results go to stdout, progress and everything else to stderr. The words apiserver
// and backend make it one of the other programs, so that one binary is enough.
func RunLoadgen(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	c := &cli{environ: environ, stdout: stdout, stderr: stderr, now: time.Now, terminal: boot.Terminal(stderr)}
	colors := c.env("NO_COLOR") == "" && c.env("TERM") != "dumb"
	c.color = c.terminal && colors
	c.style = report.Style{Color: boot.Terminal(stdout) && colors, Width: width(stdout)}
	root := c.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	command, err := root.ExecuteContextC(ctx)
	var f failure
	switch {
	case err == nil:
		return c.code
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "loadgen: interrupted:", context.Cause(ctx))
		return exitInterrupted
	case errors.As(err, &f):
		fmt.Fprintln(stderr, "loadgen:", err)
		return f.code
	}
	fmt.Fprintf(stderr, "loadgen: %s\nSee: %s --help\n", err, command.CommandPath())
	return exitUsage
}

// env returns a variable of the environment, by its full name.
func (c *cli) env(name string) string {
	value := ""
	for _, v := range c.environ {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text // the last one counts
		}
	}
	return value
}

// config reads our variables.
func (c *cli) config() (boot.Loadgen, error) { return boot.Load[boot.Loadgen]("loadgen", c.environ) }

// width of a terminal in columns; 0 when w is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// say writes a line to people, unless they want quiet.
func (c *cli) say(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.stderr, format+"\n", args...)
	}
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "loadgen",
		Short: "Overload a service, and see what of it is still good for anybody",
		Long: `loadgen plays impatient users who try again, against a service of your own or
against the one that comes with it, and tells throughput (work finished) from
goodput (work finished while somebody still waits).

Exit codes: 0 fine, 1 an expectation failed, 2 usage or a bad file, 3 the run is
not valid (load not delivered, target unreachable, sums do not add up), 130 interrupted.
Variables: see loadgen serve --help.`,
		Example: `  loadgen demo
  loadgen run shed-your-load/fifo
  loadgen run shed-your-load --engine sim`,
		Version:       boot.BuildInfo().String(),
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return errors.New(scenario.Unknown("command", args[0], words(cmd)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolVarP(&c.quiet, "quiet", "q", false, "no progress, only results and errors")
	root.AddCommand(
		c.demo(), c.run(), c.sweep(), c.report(), c.compare(), c.scenarios(), c.validate(), c.schema(),
		c.serve(), c.spike(), c.watch(), c.policy(), c.fault(), c.tip(), c.drift(), c.hysteresis(), c.matrix(), c.healthcheck(), c.version(),
		c.program("apiserver", RunAPIServer), c.program("backend", RunBackend),
	)
	return root
}

// words lists the commands that people can type.
func words(cmd *cobra.Command) []string {
	var out []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			out = append(out, sub.Name())
		}
	}
	return out
}

// flagError names the nearest flag for one that does not exist.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return errors.New(scenario.Unknown("flag", unknown.GetSpecifiedName(), known))
}

// program is a hidden word that turns loadgen into another program: what it starts
// as its children is itself.
func (c *cli) program(name string, run func(context.Context, []string, []string, io.Writer, io.Writer) int) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true, Short: "Be the " + name,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.code = run(cmd.Context(), args, c.environ, c.stdout, c.stderr)
			return nil
		},
	}
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which code this is", Long: "Say which version, commit, compiler and platform this binary is of.",
		Example: "  loadgen version", Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) { fmt.Fprintln(c.stdout, "loadgen", boot.BuildInfo()) },
	}
}
