package main

func theWork() row {
	return row{title: "The work", panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "Wasted work", unit: number,
				about: "Workers at work on average: for somebody, and for nobody (late, lost, given up). Good: nothing wasted."},
			stacked: true,
			lines: []line{
				{name: "useful", color: green,
					expr: `sum(rate(shedload_server_work_seconds_total{run="$run"}[$__rate_interval])) - sum(rate(shedload_server_wasted_work_seconds_total{run="$run"}[$__rate_interval]))`},
				{name: "wasted", color: vermillion,
					expr: `sum(rate(shedload_server_wasted_work_seconds_total{run="$run"}[$__rate_interval]))`},
			},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Workers and capacity", unit: number,
				about: "Workers that fetch from this server, those that are busy, and on the right axis what they can finish in a second. Good: fewer busy than there are. Capacity that falls is a trigger as good as a spike. Add some: docker compose up -d --scale backend=3"},
			axis: "workers",
			lines: []line{
				{name: "workers", expr: `sum(shedload_workers{run="$run"})`, color: white},
				{name: "busy", expr: `sum(shedload_in_service{run="$run"})`, color: sky},
				{name: "capacity per second", expr: `run:shedload_capacity:per_second{run="$run"}`, color: yellow, right: true, dashed: true},
			},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Margin and service time", unit: seconds, none: "no work was done",
				about: "How long before its deadline a unit counts as doomed and is dropped (0: the discipline has no such margin), and what work takes on average. Good: the margin above the service time. Below it, workers start what cannot finish."},
			lines: []line{
				{name: "margin", expr: `max(shedload_drop_margin_seconds{run="$run"})`, color: orange},
				{name: "service time", color: sky,
					expr: `sum(rate(shedload_backend_work_seconds_total{run="$run"}[$__rate_interval])) / (sum(rate(shedload_backend_units_total{run="$run"}[$__rate_interval])) > 0)`},
			},
		}},
	}}
}

func theDoor() row {
	return row{title: "The door", panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "Limit and in flight", unit: number,
				about: "What is queued and in service, what waits at the door, and the limit that the door enforces (0: it has none). Good: in flight below the limit; at it, the door does its work."},
			lines: []line{
				{name: "in flight", expr: `sum(shedload_door_in_flight{run="$run"})`, color: sky},
				{name: "waiting at the door", expr: `sum(shedload_door_waiting{run="$run"})`, color: orange},
				{name: "limit", expr: `max(shedload_door_limit{run="$run"})`, color: yellow, dashed: true},
			},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Refused at the door", unit: perSecond,
				about: "Attempts turned away before the queue, by reason and class. Good: none; under overload better here than late."},
			stacked: true,
			lines:   []line{{name: "{{reason}} · {{class}}", expr: `sum by (reason, class) (rate(shedload_server_outcomes_total{run="$run", outcome="refused"}[$__rate_interval]))`}},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Dropped from the queue", unit: perSecond,
				about: "Units taken off the queue without work, by reason: expired, doomed (cannot finish in time), codel, sojourn, evicted. Good: none; under overload it is what saves goodput."},
			stacked: true,
			lines:   []line{{name: "{{reason}}", expr: `sum by (reason) (rate(shedload_server_outcomes_total{run="$run", outcome="dropped"}[$__rate_interval]))`}},
		}},
	}}
}

func theTrust() row {
	return row{title: "Can this be trusted?", panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "Generator's lateness", unit: seconds, none: "nothing was sent",
				about: "How long after their intended time attempts leave. Good: below a few milliseconds. A generator that is late hides the trouble it should cause."},
			lines: quantiles("shedload_generator_lateness_seconds_bucket", `run="$run"`),
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Late and missed sends", unit: perSecond,
				about: "Attempts that left more than 100 ms late, or never. Good: none. Above 0.1 % what is seen is not a result."},
			lines: []line{
				{name: "late", expr: `sum(rate(shedload_generator_late_total{run="$run"}[$__rate_interval]))`, color: orange},
				{name: "missed", expr: `sum(rate(shedload_generator_missed_total{run="$run"}[$__rate_interval]))`, color: vermillion},
			},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Client and server agree", unit: perSecond,
				about: "The same thing, counted on both sides: attempts sent and arrived, goodput as the server and as the client sees it. Good: pairs lie on each other. A gap is work that was on time for the server alone."},
			lines: []line{
				{name: "sent", expr: `sum(rate(shedload_client_attempts_total{run="$run"}[$__rate_interval]))`, color: white},
				{name: "arrived", expr: `sum(rate(shedload_server_attempts_total{run="$run"}[$__rate_interval]))`, color: orange, dashed: true},
				{name: "goodput, server", expr: `run:shedload_server_goodput:rate5s{run="$run"}`, color: sky},
				{name: "goodput, client", expr: `run:shedload_goodput:rate5s{run="$run"}`, color: green, dashed: true},
			},
		}},
	}}
}
