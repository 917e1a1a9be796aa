package control_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"shedload/internal/app"
	"shedload/internal/boot"
	"shedload/internal/control"
)

// TestMain lets the test binary be the programs that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		ctx := context.Background()
		switch os.Args[1] {
		case "apiserver":
			os.Exit(app.RunAPIServer(ctx, os.Args[2:], os.Environ(), os.Stdout, os.Stderr))
		case "backend":
			os.Exit(app.RunBackend(ctx, os.Args[2:], os.Environ(), os.Stdout, os.Stderr))
		case "play":
			os.Exit(play(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

// play is a child with a certain character.
func play(character string) int {
	hello := fmt.Sprintf(`{"program":"play","pid":%d,"listen":{"public":"127.0.0.1:1"}}`+"\n", os.Getpid())
	switch character {
	case "good":
		fmt.Print(hello)
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "dead": // before it is ready
		fmt.Fprintln(os.Stderr, "no such luck\nSHEDLOAD_DOOR is wrong")
		return 2
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "babbler":
		fmt.Println(strings.Repeat("x", 5000))
	case "stubborn":
		fmt.Print(hello)
		<-make(chan bool)
	case "mortal": // ends by itself, after it was ready
		fmt.Print(hello)
		fmt.Fprintln(os.Stderr, "out of breath")
		return 7
	}
	return 0
}

func start(t *testing.T, character string) (*control.Child, error) {
	t.Helper()
	c, err := control.Start(context.Background(), control.Spawn{Path: os.Args[0], Words: []string{"play", character}, Environ: []string{"PATH=/"}})
	if err == nil {
		t.Cleanup(func() { _ = c.Kill(); <-c.Done() })
	}
	return c, err
}

func TestChildEndsWhenItsStandardInputCloses(t *testing.T) {
	c, err := start(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	if c.URL("public") != "http://127.0.0.1:1" || c.URL("nothing") != "" {
		t.Errorf("got %q and %q, want the announced listener alone", c.URL("public"), c.URL("nothing"))
	}
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if u := c.Usage(); !u.Measured {
		t.Errorf("got %+v, want what it used", u)
	}
}

func TestChildThatCannotStartSaysWhy(t *testing.T) {
	for character, want := range map[string][]string{
		"dead":    {"start play: ended before it was ready", "SHEDLOAD_DOOR is wrong"},
		"babbler": {"start play: ", "buffer full"},
	} {
		if _, err := start(t, character); err == nil || !contains(err.Error(), want...) {
			t.Errorf("%s: got %v, want %q", character, err, want)
		}
	}
	_, err := control.Start(context.Background(), control.Spawn{Path: "/does/not/exist", Words: []string{"play"}})
	if err == nil || !contains(err.Error(), "start play", "no such file") {
		t.Errorf("got %v, want the missing file", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	cancel(enough)
	_, err = control.Start(ctx, control.Spawn{Path: os.Args[0], Words: []string{"play", "mute"}})
	if !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause of the end", err)
	}
}

func TestChildThatDiesShowsItsLastLines(t *testing.T) {
	c, err := start(t, "mortal")
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Err(); err == nil || !contains(err.Error(), "died", "exit status 7", "out of breath") {
		t.Errorf("got %v, want status and last words", err)
	}
	if err := c.Kill(); err != nil {
		t.Errorf("killing the dead: %v", err)
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	c, err := start(t, "stubborn")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Stop(ctx); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("got %v, want to hear that it was killed", err)
	}
}

func TestKilledChildIsNoSurprise(t *testing.T) {
	c, err := start(t, "good")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Err(); err != nil {
		t.Errorf("got %v, want nothing: we killed it", err)
	}
}

// TestServicesStopInOrder starts the real programs by themselves: they announce
// free ports, pass their health check, and end with exit code 0 when their parent goes.
func TestServicesStopInOrder(t *testing.T) {
	p := small(t)
	children, err := control.StartChildren(context.Background(), control.Spawner{Path: os.Args[0]}, p)
	if err != nil {
		t.Fatal(err)
	}
	target := children.Target()
	if target.Public == "" || target.APIAdmin == "" || target.BackendAdmin == "" || children.API().URL("workers") == "" {
		t.Errorf("got %+v, want all listeners", target)
	}
	if err := control.NewRemote(target).Ready(context.Background()); err != nil {
		t.Error(err)
	}
	admin := strings.TrimPrefix(target.APIAdmin, "http://")
	var stderr bytes.Buffer
	environ := []string{boot.Prefix + "ADMIN_ADDR=" + admin}
	if code := app.RunAPIServer(context.Background(), []string{"healthcheck"}, environ, io.Discard, &stderr); code != 0 {
		t.Errorf("healthcheck: %d, %s", code, stderr.String())
	}
	if err := children.Stop(context.Background()); err != nil {
		t.Errorf("got %v, want both to end by themselves", err)
	}
	if code := app.RunAPIServer(context.Background(), []string{"healthcheck"}, environ, io.Discard, io.Discard); code != 1 {
		t.Errorf("healthcheck of what has ended: %d, want 1", code)
	}
	if err := control.NewRemote(target).Ready(context.Background()); !errors.Is(err, control.ErrUnreachable) || !contains(err.Error(), "apiserver at "+target.APIAdmin, "connection refused") {
		t.Errorf("got %v, want to hear who cannot be reached, where and why", err)
	}
}

func TestWrongEnvironmentOfAChildIsShown(t *testing.T) {
	_, err := control.Start(context.Background(), control.Spawn{
		Path: os.Args[0], Words: []string{"apiserver"}, Environ: []string{"SHEDLOAD_DOOR=ajar", "SHEDLOAD_RETENTION=x"},
	})
	if err == nil || !contains(err.Error(), "SHEDLOAD_DOOR", "SHEDLOAD_RETENTION", "ajar") {
		t.Errorf("got %v, want both variables", err)
	}
}

func contains(s string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
}

// within fails a test that hangs; it asserts no speed.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
