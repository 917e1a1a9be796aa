package bench

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"shedload/internal/arrival"
	"shedload/internal/client"
	"shedload/internal/client/pace"
	"shedload/internal/ledger"
	"shedload/internal/population"
	"shedload/internal/retry"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// ours is shedload's generator. When it retries, a second of new requests goes on
// as retries at the end of each patience, as in a collapse.
func ours(j job) any {
	if j.Procs > 0 {
		runtime.GOMAXPROCS(j.Procs)
	} else {
		client.MoreProcs()
	}
	var r report
	group := client.Group{
		Population: population.Spec{Name: "bench", Patience: j.Patience, Retry: retry.Spec{Attempts: 1}},
		Arrivals:   arrival.Spec{Kind: arrival.Even, Rate: float64(j.Rate)},
		Wait:       scenario.Wait(j.Wait),
	}
	if j.Retry {
		group.Population.Retry.Attempts, group.Arrivals.Until = retry.MaxAttempts, time.Second
	}
	late := make([]time.Duration, 0, int(j.For.Seconds()+1)*j.Rate*2)
	missed := 0
	g, err := client.New(client.Config{
		Target: j.URL, Horizon: j.For, MaxConns: 18_000,
		Groups: []client.Group{group},
		Record: func(e ledger.Event) {
			switch {
			case e.Kind == ledger.Sent && e.At >= work.Instant(warmUp):
				late = append(late, e.Took)
			case e.Kind == ledger.Missed:
				missed++
			}
		},
	})
	if err != nil {
		panic(err)
	}
	if err := g.Prepare(context.Background()); err != nil {
		panic(err)
	}
	r.Generator, r.Server = clocked(j, func() {
		if err := g.Run(context.Background(), time.Now()); err != nil {
			panic(err)
		}
	})
	r.lateness(late)
	r.Missed += missed
	return r
}

func vegetaAttack(j job) any {
	var r report
	targeter := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodPost, URL: j.URL + "/hold"})
	attacker := vegeta.NewAttacker(vegeta.KeepAlive(true), vegeta.Connections(18_000), vegeta.MaxWorkers(18_000))
	results := make([]vegeta.Result, 0, int(j.For.Seconds()+1)*j.Rate)
	r.Generator, r.Server = clocked(j, func() {
		for res := range attacker.Attack(targeter, vegeta.Rate{Freq: j.Rate, Per: time.Second}, j.For, "bench") {
			results = append(results, *res)
		}
	})
	// Vegeta does not say when it began; the earliest send says when it did at the
	// latest, which is in its favour.
	intended := func(res vegeta.Result) time.Duration {
		return time.Duration(res.Seq) * time.Second / time.Duration(j.Rate)
	}
	began := results[0].Timestamp.Add(-intended(results[0]))
	for _, res := range results {
		if t := res.Timestamp.Add(-intended(res)); t.Before(began) {
			began = t
		}
	}
	late := make([]time.Duration, 0, len(results))
	for _, res := range results {
		if at := res.Timestamp.Sub(began); at >= warmUp {
			late = append(late, at-intended(res))
		}
	}
	r.lateness(late)
	return r
}

// floor makes the system calls of a send and nothing else: a thread that sleeps until the
// instant, writes a request that is ready, and reads what comes back without a look at it.
// That is the kernel's part, and what a generator on one thread cannot go below.
func floor(j job) any {
	var r report
	sleeper, err := pace.New()
	if err != nil {
		panic(err)
	}
	watcher, ok := sleeper.(pace.Watcher)
	if !ok {
		return r // this system has none, and the generator works another way there
	}
	address := strings.TrimPrefix(j.URL, "http://")
	conns := make([]io.ReadWriteCloser, j.Rate*5/4) // each is busy for a second
	idle := make([]uint32, len(conns))
	for i := range conns {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		if conns[i], err = watcher.Watch(nc, uint32(i)); err != nil {
			panic(err)
		}
		idle[i] = uint32(i)
	}
	request := []byte("POST /hold HTTP/1.1\r\nHost: " + address + "\r\nContent-Length: 0\r\n\r\n")
	late := make([]time.Duration, 0, int(j.For.Seconds())*j.Rate)
	send := func(begin time.Time) {
		buf := make([]byte, 4096)
		for n := 0; time.Since(begin) < j.For; {
			due := time.Duration(n) * time.Second / time.Duration(j.Rate)
			watcher.Sleep(due - time.Since(begin))
			for _, id := range watcher.Ready() {
				if _, err := conns[id].Read(buf); err != nil {
					panic(err)
				}
				idle = append(idle, id)
			}
			if at := time.Since(begin); at >= due && len(idle) > 0 {
				c := conns[idle[len(idle)-1]]
				idle = idle[:len(idle)-1]
				if _, err := c.Write(request); err != nil {
					panic(err)
				}
				if n++; at >= warmUp {
					late = append(late, at-due)
				}
			}
		}
	}
	r.Generator, r.Server = clocked(j, func() { pace.Run(watcher, func() { send(time.Now()) }) })
	r.lateness(late)
	return r
}

// bare makes two plain round trips for each attempt with net/http's client.
func bare(j job) any {
	var r report
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	trip := func() {
		req, err := http.NewRequest(http.MethodPost, j.URL+"/bare", bytes.NewReader(nil))
		if err != nil {
			panic(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	r.Generator, r.Server = clocked(j, func() {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 100) // no storm of dials when the machine is short of time
		begin := time.Now()
		for n := 0; n < int(j.For.Seconds()*float64(j.Rate)); n++ {
			due := begin.Add(time.Duration(n) * time.Second / time.Duration(j.Rate))
			time.Sleep(time.Until(due))
			if time.Since(begin) >= warmUp {
				r.Sends++
			}
			slots <- struct{}{}
			wg.Go(func() {
				trip()
				trip()
				<-slots
			})
		}
		wg.Wait()
	})
	return r
}
