package boot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/oklog/run"
	"go.uber.org/zap"
)

func serve(t *testing.T, e Endpoint) *Server {
	t.Helper()
	e.Addr = "127.0.0.1:0"
	s, err := Listen(e)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestServerSpeaksBothProtocols(t *testing.T) {
	s := serve(t, Endpoint{Name: "public", H2C: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %s", r.ProtoMajor, body)
	})})
	for _, version := range []int{1, 2} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(version == 1)
		protocols.SetUnencryptedHTTP2(version == 2)
		client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		response, err := client.Post("http://"+s.Addr(), "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		client.CloseIdleConnections()
		if want := fmt.Sprintf("%d hello", version); string(body) != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	s := serve(t, Endpoint{Name: "public", Handler: http.NotFoundHandler()})
	request, _ := http.NewRequest(http.MethodGet, "http://"+s.Addr(), nil)
	request.Header.Set("X-Long", strings.Repeat("a", 64<<10))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %s, want 431", response.Status)
	}
}

// TestConnectionsAreBounded opens one connection more than allowed: it is
// answered only when another one closes.
func TestConnectionsAreBounded(t *testing.T) {
	s := serve(t, Endpoint{Name: "public", MaxConns: 1, Handler: http.NotFoundHandler()})
	var conns [2]net.Conn
	for i := range conns {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if i == 0 { // once it is answered, it is the one that was accepted
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	answered := make(chan error, 1)
	go func() {
		_, err := http.ReadResponse(bufio.NewReader(conns[1]), nil)
		answered <- err
	}()
	select {
	case <-answered:
		t.Fatal("two connections are open where one is allowed")
	default:
	}
	conns[0].Close()
	if err := <-answered; err != nil {
		t.Errorf("got %v, want the second connection served after the first closed", err)
	}
}

// deadlines records what a handler's body limit does to the connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []bool
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, !t.IsZero())
	return nil
}

func TestBodyLimitEndsWithTheBody(t *testing.T) {
	for body, want := range map[string][]bool{"": nil, "hello": {true, false}} {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		boundBody(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })).ServeHTTP(d, r)
		if fmt.Sprint(d.set) != fmt.Sprint(want) {
			t.Errorf("body %q: got deadlines %v, want %v", body, d.set, want)
		}
	}
}

// TestPanicEndsTheProcess runs itself as the process that is to end.
func TestPanicEndsTheProcess(t *testing.T) {
	if os.Getenv("BOOT_TEST_PANIC") != "" {
		s := serve(t, Endpoint{Name: "public", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/abort" {
				panic(http.ErrAbortHandler)
			}
			panic("broken invariant")
		})})
		_, err := http.Get("http://" + s.Addr() + "/abort")
		fmt.Fprintln(os.Stderr, "survived the abort:", err != nil)
		_, _ = http.Get("http://" + s.Addr() + "/panic")
		os.Exit(0)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestPanicEndsTheProcess$")
	c.Env = append(os.Environ(), "BOOT_TEST_PANIC=1")
	out, err := c.CombinedOutput()
	for _, want := range []string{"survived the abort: true", "handler of /panic: broken invariant", "server_test.go"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("got %v, want %q in %s", err, want, out)
		}
	}
}

func TestListenNamesTheListener(t *testing.T) {
	s := serve(t, Endpoint{Name: "public", Handler: http.NotFoundHandler()})
	if _, err := Listen(Endpoint{Name: "admin", Addr: Addr(s.Addr())}); err == nil || !strings.Contains(err.Error(), "admin listener") {
		t.Errorf("got %v, want an error that names the admin listener", err)
	}
}

// TestGroupStopsInOrder stops a group from outside: the request in progress is
// answered, the tasks end, and what was stopped first stops first.
func TestGroupStopsInOrder(t *testing.T) {
	cause := errors.New("enough")
	entered, release := make(chan bool), make(chan bool)
	s, err := Listen(Endpoint{Name: "public", Addr: "127.0.0.1:0", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- true
		<-release
	})})
	if err != nil {
		t.Fatal(err)
	}
	var g run.Group
	ctx, cancel := context.WithCancelCause(context.Background())
	AddStops(ctx, &g, false, nil)
	AddTask(&g, func(ctx context.Context) error {
		<-ctx.Done()
		close(release) // as the station does when it closes
		return nil
	})
	AddServers(&g, time.Minute, s)
	ended := make(chan error, 1)
	go func() { ended <- g.Run() }()
	answer := make(chan error, 1)
	go func() {
		response, err := http.Get("http://" + s.Addr())
		if err == nil {
			response.Body.Close()
		}
		answer <- err
	}()
	<-entered
	cancel(cause)
	if err := <-answer; err != nil {
		t.Errorf("request in progress: %v", err)
	}
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause of the stop", err)
	}
}

func TestChildEndsWithItsParent(t *testing.T) {
	in, parent := io.Pipe()
	var g run.Group
	AddStops(context.Background(), &g, true, in)
	parent.Close()
	if err := g.Run(); !errors.Is(err, ErrOrphaned) {
		t.Errorf("got %v, want ErrOrphaned", err)
	}
}

func TestAnnouncementIsOneLine(t *testing.T) {
	s := serve(t, Endpoint{Name: "public", Handler: http.NotFoundHandler()})
	var out bytes.Buffer
	if err := Announce(&out, "apiserver", []*Server{s}); err != nil {
		t.Fatal(err)
	}
	var a Announcement
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Listen["public"] != s.Addr() || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Errorf("got %q (%v), want one line with %s", out.String(), err, s.Addr())
	}
}

func TestLogIsJSONWithoutSecrets(t *testing.T) {
	var out bytes.Buffer
	c := strict{URL: "http://h", Token: "hush"}
	LogEffective(Logger(&out, zap.InfoLevel), &c)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if line["SHEDLOAD_URL"] != "http://h" || strings.Contains(out.String(), "hush") {
		t.Errorf("got %s, want the URL and no secret", out.String())
	}
}

func TestFileLimitSaysWhatIsMissing(t *testing.T) {
	have := FileLimit()
	if have == 0 {
		t.Skip("needs a system with a file limit")
	}
	err := CheckFiles(have)
	if want := fmt.Sprintf("needs %d, have %d", have+spareFiles, have); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := CheckFiles(1); err != nil {
		t.Error(err)
	}
}
