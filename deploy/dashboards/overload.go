package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// overload is the home dashboard. Its first row makes the point: throughput
// flat, goodput on the floor, one state in words.
func overload() board {
	return board{
		uid: "overload", title: "Overload",
		about: "What a service does for its clients while it is overloaded: throughput stays, goodput falls, and retries keep it down.",
		rows: []row{
			atAGlance(), theQueue(), theClients(), theWork(), theDoor(), theTrust(),
		},
	}
}

func atAGlance() row {
	return row{panels: []placed{
		{w: 16, h: 12, panel: chart{
			words: words{
				title: "Offered, throughput, goodput",
				about: "Throughput is what the service finishes, wanted or not. Goodput is what is answered while the client still waits. Offered, on the right axis, is attempts, retries included. " +
					"Shaded: a phase of other load, such as a spike. Lines: a change of policy. Good: goodput on top of throughput. Collapsed: throughput flat, goodput on the floor.",
				unit: perSecond,
			},
			axis: "throughput, goodput",
			lines: []line{
				{name: "offered", expr: `sum(shedload_client_offered_per_second{run="$run"})`, color: grey, right: true, dashed: true},
				{name: "throughput", expr: `sum(shedload_server_throughput_per_second{run="$run"})`, color: sky},
				{name: "goodput", expr: `sum(shedload_client_goodput_per_second{run="$run"})`, color: green, strong: true},
			},
		}},
		{w: 8, h: 4, panel: figure{
			words: words{
				title: "State",
				about: "The last ten seconds in a word. Healthy: what is asked for is delivered. Overloaded: less, but what is done is wanted. Collapsed: busy for nothing. Recovering: working off what is left. Good: healthy.",
				unit:  "none", none: "the apiserver is not there",
			},
			line: line{name: "state", expr: `run:shedload_state:code{run="$run"}`}, states: states,
		}},
		{under: true, w: 8, h: 4, panel: figure{
			words: words{
				title: "Goodput share",
				about: "Goodput as a share of throughput: how much of what is done somebody still wants. Good: near 100 %.",
				unit:  share, none: "no load",
			},
			line:  line{name: "share", expr: `run:shedload_goodput_share:ratio5s{run="$run"}`},
			steps: []dashboard.Threshold{{Color: vermillion}, {Value: new(0.5), Color: orange}, {Value: new(0.95), Color: green}},
		}},
		{under: true, w: 4, h: 4, panel: figure{
			words: words{
				title: "Policy",
				about: "The queue discipline in force, and the door. Good: one that drops what cannot finish in time, such as deadline with a margin above the service time. Switch it while it runs: docker compose exec loadgen loadgen policy set --help",
				unit:  "none", none: "the apiserver is not there",
			},
			line:  line{name: "{{discipline}} · {{door}}", expr: `max by (discipline, door) (shedload_discipline_info{run="$run"})`},
			names: true, steps: []dashboard.Threshold{{Color: quiet}},
		}},
		{w: 4, h: 4, panel: figure{
			words: words{
				title: "Alerts firing", none: "none", unit: "none",
				about: "What Prometheus' rules say now. In a collapse ThroughputCollapsed stays silent and GoodputCollapsed fires. Good: none.",
			},
			line:  line{name: "{{alertname}}", expr: `max by (alertname) (ALERTS{run=~"$run|", alertstate="firing"})`},
			names: true, steps: []dashboard.Threshold{{Color: alarm}},
		}},
	}}
}

func theQueue() row {
	return row{title: "The queue", panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "Queue length", unit: number,
				about: "Units that wait for a worker. Good: near 0. A queue that grows while throughput is flat holds work that nobody will want."},
			lines: []line{{name: "queued", expr: `sum(shedload_queue_length{run="$run"})`, color: sky}},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Age of the oldest, and patience", unit: seconds,
				about: "How long the oldest unit has waited, and how long a client waits for its answer. Good: well below patience. Above it, fifo hands dead work to the workers."},
			lines: []line{
				{name: "oldest in the queue", expr: `max(shedload_queue_oldest_age_seconds{run="$run"})`, color: vermillion},
				{name: "patience", expr: `max(shedload_client_patience_seconds{run="$run"})`, color: white, dashed: true},
			},
		}},
		{w: 8, h: 8, panel: heat{
			words: words{title: "Wait in the queue", unit: seconds, none: "nothing was handed to a worker",
				about: "How long units had waited when a worker took them; brighter is more. Good: all in the lowest rows. Bright above patience: workers are given dead work."},
			expr: `sum by (le) (rate(shedload_queue_wait_seconds_bucket{run="$run"}[$__rate_interval]))`,
		}},
		{w: 12, h: 8, panel: chart{
			words: words{title: "Where attempts end", unit: perSecond,
				about: "Each attempt ends in exactly one place; the server's view. Late is finished after the deadline. Good: all on time; under overload: refused or dropped, not late."},
			stacked: true,
			lines:   []line{{name: "{{outcome}}", expr: `sum by (outcome) (rate(shedload_server_outcomes_total{run="$run"}[$__rate_interval]))`}},
		}},
		{w: 12, h: 8, panel: chart{
			words: words{title: "Retries and amplification", unit: perSecond,
				about: "Attempts that left, first tries and retries, and on the right axis attempts per request. Good: few retries, amplification near 1. Retries that stay after the spike are what keeps a collapse going."},
			stacked: true, axis: "attempts",
			lines: []line{
				{name: "first tries", expr: `sum(rate(shedload_client_attempts_total{run="$run", attempt="first"}[$__rate_interval]))`, color: sky},
				{name: "retries", expr: `sum(rate(shedload_client_attempts_total{run="$run", attempt="retry"}[$__rate_interval]))`, color: vermillion},
				{name: "amplification", expr: `run:shedload_amplification:ratio5s{run="$run"}`, color: yellow, right: true, dashed: true},
			},
		}},
	}}
}

func theClients() row {
	return row{title: "What clients see", panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "Latency of good answers", unit: seconds, none: "no good answer",
				about: "From the intended start of an attempt to its good answer. Good: near the service time. It cannot exceed patience: what takes longer is no good answer, so look at goodput first."},
			lines: append(quantiles("shedload_client_latency_seconds_bucket", `run="$run"`),
				line{name: "patience", expr: `max(shedload_client_patience_seconds{run="$run"})`, color: white, dashed: true}),
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Time to no", unit: seconds, none: "nothing is refused or dropped",
				about: "From arrival to the refusal or drop; the slowest hundredth. Good: far below patience, so that a client can do something else. Empty while nothing is refused or dropped."},
			lines: []line{{
				name: "{{outcome}}",
				expr: `histogram_quantile(0.99, sum by (le, outcome) (rate(shedload_shed_wait_seconds_bucket{run="$run"}[$__rate_interval])))`,
			}},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Success by class", unit: share, none: "no attempt has ended",
				about: "Which share of attempts is answered in time, by class of request. Good: near 100 %; under overload the critical classes stay up and the sheddable ones give way."},
			max: 1,
			lines: []line{{
				name: "{{class}}",
				expr: `sum by (class) (rate(shedload_client_goodput_total{run="$run"}[$__rate_interval])) / (sum by (class) (rate(shedload_client_outcomes_total{run="$run"}[$__rate_interval])) > 0)`,
			}},
		}},
	}}
}

// quantiles are the median and the slowest hundredth of a histogram.
func quantiles(bucket, labels string) []line {
	expr := func(q string) string {
		return `histogram_quantile(` + q + `, sum by (le) (rate(` + bucket + `{` + labels + `}[$__rate_interval])))`
	}
	return []line{
		{name: "median", expr: expr("0.5"), color: sky},
		{name: "99 % are faster", expr: expr("0.99"), color: orange},
	}
}
