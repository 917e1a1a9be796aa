package main

// sideBySide shows the same numbers of several runs. They are the lanes of the
// compose profile compare, which differ in their queue alone.
func sideBySide() board {
	return board{
		uid: "side-by-side", title: "Side by side", many: true,
		about: "Lanes that get the same arrivals and differ in their queue alone. Start them: docker compose --profile compare up -d; then scripts/compare",
		rows:  []row{outcome(), why()},
	}
}

// lanes is a chart with a line for each run.
func lanes(w words, expr string) chart {
	return chart{words: w, lines: []line{{name: "{{run}}", expr: expr}}}
}

func outcome() row {
	return row{panels: []placed{
		{w: 12, h: 10, panel: lanes(words{title: "Goodput", unit: perSecond,
			about: "What is answered while the client still waits, lane by lane. Good: what is asked for, also after the spike. Same arrivals, same workers: the queue alone makes the difference."},
			`sum by (run) (shedload_client_goodput_per_second{run=~"$run"})`)},
		{w: 12, h: 10, panel: lanes(words{title: "Throughput", unit: perSecond,
			about: "What is finished, wanted or not. Good: what is asked for. It looks alike in all lanes, which is why a watch on throughput sees no collapse."},
			`sum by (run) (shedload_server_throughput_per_second{run=~"$run"})`)},
	}}
}

func why() row {
	r := row{title: "Why", panels: []placed{
		{w: 24, h: 6, panel: timeline{
			words: words{title: "State", unit: "none", none: "no lane is there",
				about: "What the last ten seconds of each lane looked like. Good: healthy again soon after the spike."},
			states: states, line: line{name: "{{run}}", expr: `run:shedload_state:code{run=~"$run"}`},
		}},
	}}
	for _, c := range []chart{
		lanes(words{title: "Goodput share", unit: share, none: "nothing is finished",
			about: "Goodput as a share of throughput. Good: near 100 %."},
			`run:shedload_goodput_share:ratio5s{run=~"$run"}`),
		lanes(words{title: "Offered", unit: perSecond,
			about: "Attempts that left, retries included. Good: back to what it was soon after the spike."},
			`sum by (run) (shedload_client_offered_per_second{run=~"$run"})`),
		lanes(words{title: "Amplification", unit: times, none: "no requests",
			about: "Attempts per request. Good: near 1."},
			`run:shedload_amplification:ratio5s{run=~"$run"}`),
		lanes(words{title: "Queue length", unit: number,
			about: "Units that wait for a worker. Good: near 0. Lifo keeps goodput but not memory: what it never serves stays."},
			`sum by (run) (shedload_queue_length{run=~"$run"})`),
		lanes(words{title: "Age of the oldest", unit: seconds,
			about: "How long the oldest unit has waited. Good: below patience."},
			`max by (run) (shedload_queue_oldest_age_seconds{run=~"$run"})`),
		lanes(words{title: "Wasted work", unit: share, none: "no work is done",
			about: "Which share of the work is for nothing. Good: 0. A margin of 0 drops the dead but starts the dying."},
			`run:shedload_wasted_share:ratio5s{run=~"$run"}`),
		lanes(words{title: "Users' time to success", unit: seconds, none: "no request succeeds",
			about: "From a user's wish to its fulfilment, over all tries; 99 % are faster. Good: near the service time."},
			`histogram_quantile(0.99, sum by (run, le) (rate(shedload_client_request_seconds_bucket{run=~"$run"}[$__rate_interval])))`),
		lanes(words{title: "Shed", unit: perSecond,
			about: "Attempts refused or dropped. Good: none; under overload it is what saves the rest."},
			`run:shedload_shed:rate5s{run=~"$run"}`),
		lanes(words{title: "Late or missed sends", unit: perSecond,
			about: "Attempts that the generator sent late or never. Good: none, else the lanes did not get the same arrivals."},
			`sum by (run) (rate(shedload_generator_late_total{run=~"$run"}[$__rate_interval])) + sum by (run) (rate(shedload_generator_missed_total{run=~"$run"}[$__rate_interval]))`),
	} {
		r.panels = append(r.panels, placed{w: 8, h: 8, panel: c})
	}
	return r
}
