package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"shedload/internal/api"
	"shedload/internal/boot"
)

// A job is what a child process does. The zero Role is the parent.
type job struct {
	Role     string        // server, apiserver, ours, vegeta, floor or bare
	Server   string        // the role of the server that a generator talks to; "" means server
	URL      string        // of the server
	Rate     int           // attempts a second
	For      time.Duration // length of the load
	Patience time.Duration
	Wait     string
	Retry    bool
	Procs    int // GOMAXPROCS of ours; 0 means what the program would choose
}

// A report is what a child measured after its warm-up.
type report struct {
	Sends         int
	Missed        int
	P50, P99, Max time.Duration // send lateness
	Generator     time.Duration // processor time
	Server        time.Duration
}

const (
	jobVariable = "SHEDLOAD_BENCH_JOB"
	warmUp      = 2 * time.Second
	missedAfter = 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	roles := map[string]func(job) any{"server": serve, "apiserver": serveAPI, "ours": ours, "vegeta": vegetaAttack, "floor": floor, "bare": bare}
	if err := json.NewEncoder(os.Stdout).Encode(roles[j.Role](j)); err != nil {
		panic(err)
	}
}

// start runs a child and returns what it prints; stop lets it end.
func start(b *testing.B, j job) (out *bufio.Reader, stop func()) {
	b.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return bufio.NewReader(stdout), func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	}
}

// measure runs a generator against a server of its own.
func measure(b *testing.B, j job) report {
	b.Helper()
	server, stopServer := start(b, job{Role: cmp.Or(j.Server, "server")})
	defer stopServer()
	url, err := server.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	j.URL = url[:len(url)-1]
	out, stop := start(b, j)
	defer stop()
	var r report
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		b.Fatalf("%s: %v", j.Role, err)
	}
	return r
}

// serve is a bare net/http server. POST /hold and /v1/operations hold each request
// for a second, or for the deadline that it names if that is shorter; anything
// else is answered at once.
func serve(job) any {
	hold := func(w http.ResponseWriter, r *http.Request) {
		d := time.Second
		if ms, err := strconv.ParseFloat(r.Header.Get("X-Request-Timeout-Ms"), 64); err == nil {
			d = min(d, time.Duration(ms*1e6))
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if d < time.Second {
			w.WriteHeader(http.StatusAccepted)
		}
		io.WriteString(w, `{"id":"0123456789abcdef0123456789abcdef","state":"pending"}`)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hold", hold)
	mux.HandleFunc("POST /v1/operations", hold)
	mux.HandleFunc("GET /cpu", reportCPU)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"0123456789abcdef0123456789abcdef","state":"pending"}`)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	go http.Serve(l, mux)
	io.Copy(io.Discard, os.Stdin)
	return nil
}

func reportCPU(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, int64(cpu())) }

// serveAPI is the apiserver without workers: nothing is served, and every attempt
// is answered at its deadline.
func serveAPI(job) any {
	s, err := api.New(api.Config{})
	if err != nil {
		panic(err)
	}
	public := s.Public()
	l, err := boot.Listen(boot.Endpoint{Name: "public", Addr: "127.0.0.1:0", H2C: true, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/cpu" {
				reportCPU(w, r)
				return
			}
			public.ServeHTTP(w, r)
		})})
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	go s.Run(context.Background())
	go l.Serve()
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func serverCPU(url string) time.Duration {
	resp, err := http.Get(url + "/cpu")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		panic(err)
	}
	return time.Duration(n)
}

// clocked measures processor time from the end of the warm-up to the end of f.
func clocked(j job, f func()) (generator, server time.Duration) {
	var g0, s0 time.Duration
	warm := time.AfterFunc(warmUp, func() { g0, s0 = cpu(), serverCPU(j.URL) })
	defer warm.Stop()
	f()
	return cpu() - g0, serverCPU(j.URL) - s0
}

// lateness fills in what the sends after the warm-up say.
func (r *report) lateness(late []time.Duration) {
	slices.Sort(late)
	r.Sends = len(late)
	r.P50, r.P99, r.Max = late[len(late)/2], late[len(late)*99/100], late[len(late)-1]
	for _, d := range late {
		if d > missedAfter {
			r.Missed++
		}
	}
}
