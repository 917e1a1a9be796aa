package bench

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"shedload/internal/arrival"
	"shedload/internal/client"
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
