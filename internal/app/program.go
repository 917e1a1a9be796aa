// Package app holds the three programs. Each is a function of its context,
// arguments, environment and output, and returns the exit code, so that tests can
// run it, and loadgen can be asked to be either of the others.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"go.uber.org/zap"

	"shedload/internal/boot"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// program is what the services' command lines share: they have a few words, and
// take their configuration from the environment.
type program struct {
	name, about, examples string
	config                any // a pointer to its configuration's zero value
}

// words handles everything on the command line; true when there is nothing left to do.
func (p program) words(args []string, stdout, stderr io.Writer) (code int, done bool) {
	switch {
	case len(args) == 0:
		return exitOK, false
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help"):
		if err := p.help(stdout); err != nil {
			return exitError, true
		}
		return exitOK, true
	case len(args) == 1 && (args[0] == "version" || args[0] == "--version"):
		fmt.Fprintln(stdout, p.name, boot.BuildInfo())
		return exitOK, true
	case len(args) == 1 && args[0] == "healthcheck":
		return exitOK, false // after the configuration is read
	}
	fmt.Fprintf(stderr, "%s: unknown argument %q: allowed are healthcheck, version, --help, or none\n", p.name, args)
	return exitUsage, true
}

func (p program) help(w io.Writer) error {
	vars, err := boot.Vars(p.config)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n\nUsage:\n  %s              serve until interrupted\n  %s healthcheck  exit 0 when the one that runs here is ready\n  %s version\n\nExamples:\n%s\nVariables (name, default, meaning):\n",
		p.name, p.about, p.name, p.name, p.name, p.examples)
	return boot.WriteTable(w, vars)
}

// healthTimeout bounds a health check.
const healthTimeout = 2 * time.Second

// healthcheck asks the program that runs beside us whether it is ready.
func healthcheck(ctx context.Context, admin boot.Addr, stderr io.Writer) int {
	if err := ready(ctx, admin); err != nil {
		fmt.Fprintln(stderr, "not ready:", err)
		return exitError
	}
	return exitOK
}

func ready(ctx context.Context, admin boot.Addr) error {
	host, port, err := net.SplitHostPort(string(admin))
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // it listens everywhere; we are here
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 512)) // more than the status is a courtesy
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	return nil
}

// listen opens all endpoints, or none.
func listen(log *zap.Logger, endpoints ...boot.Endpoint) ([]*boot.Server, error) {
	var servers []*boot.Server
	for _, e := range endpoints {
		e.Log = log
		s, err := boot.Listen(e)
		if err != nil {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			for _, open := range servers {
				_ = open.Shutdown(ctx) // nothing is served yet
			}
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// announce says where the servers listen: in the log, and for a parent on stdout.
func announce(log *zap.Logger, p program, c boot.Common, stdout io.Writer, servers []*boot.Server) error {
	for _, s := range servers {
		log.Info("listening", zap.String("listener", s.Name()), zap.String("addr", s.Addr()))
	}
	if !c.Announce {
		return nil
	}
	return boot.Announce(stdout, p.name, servers)
}

// ended says why a program ended, and makes the exit code of it. Being stopped is not a failure.
func ended(log *zap.Logger, err error) int {
	var signal boot.Interrupted
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, boot.ErrOrphaned), errors.As(err, &signal):
		log.Info("stopped", zap.NamedError("cause", err))
		return exitOK
	}
	log.Error("stopped", zap.Error(err))
	return exitError
}

// stdin is replaced in tests.
var stdin io.Reader = os.Stdin
