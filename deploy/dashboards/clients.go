package main

// clients shows how clients behave: they are half of every overload.
func clients() board {
	return board{
		uid: "clients", title: "Clients",
		about: "What clients do when they are not answered: try again, hold back, give up.",
		rows:  []row{users(), tries(), gates()},
	}
}

func users() row {
	return row{panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "How requests end", unit: perSecond,
				about: "A request is one wish of a user, with all its tries. It succeeds, or is given up: no attempts left, a gate refused the retry, or no attempt was ever sent. Good: all succeed."},
			stacked: true,
			lines:   []line{{name: "{{end}}", expr: `sum by (end) (rate(shedload_client_requests_ended_total{run="$run"}[$__rate_interval]))`}},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Users' time to success", unit: seconds, none: "no request succeeds",
				about: "From a user's wish to its fulfilment, over all tries. Good: near the service time. Above patience: users succeed only because they try again."},
			lines: append(quantiles("shedload_client_request_seconds_bucket", `run="$run"`),
				line{name: "patience of one try", expr: `max(shedload_client_patience_seconds{run="$run"})`, color: white, dashed: true}),
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "How attempts end for clients", unit: perSecond,
				about: "The client's view of each try. Good: all succeed; under overload a quick refusal is better than a time-out."},
			stacked: true,
			lines:   []line{{name: "{{outcome}}", expr: `sum by (outcome) (rate(shedload_client_outcomes_total{run="$run"}[$__rate_interval]))`}},
		}},
	}}
}

func tries() row {
	return row{title: "Tries", panels: []placed{
		{w: 8, h: 8, panel: heat{
			words: words{title: "Attempts by number", unit: number, none: "nothing was sent",
				about: "Attempts by how many tries their request has made; brighter is more. Good: all in the lowest row. Bright rows further up: users that come back again and again."},
			expr: `sum by (le) (rate(shedload_client_attempt_number_bucket{run="$run"}[$__rate_interval]))`,
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Requests, attempts, resumes", unit: perSecond,
				about: "New wishes, the attempts made for them, and retries that join an operation that is still pending instead of starting another. Good: attempts on top of requests."},
			lines: []line{
				{name: "requests", expr: `sum(rate(shedload_client_requests_total{run="$run"}[$__rate_interval]))`, color: sky},
				{name: "attempts", expr: `sum(rate(shedload_client_attempts_total{run="$run"}[$__rate_interval]))`, color: grey},
				{name: "resumes", expr: `sum(rate(shedload_client_resumes_total{run="$run"}[$__rate_interval]))`, color: purple},
			},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Waiting for an answer", unit: number,
				about: "Attempts that wait. Good: what Little's law gives, rate times latency: a few. At patience times the offered load, nobody is answered any more."},
			lines: []line{{name: "in flight", expr: `sum(shedload_client_in_flight{run="$run"})`, color: sky}},
		}},
	}}
}

func gates() row {
	return row{title: "What holds retries back", panels: []placed{
		{w: 8, h: 8, panel: chart{
			words: words{title: "Retry budgets", unit: number, none: "these clients have no retry budget",
				about: "Retries that the poorest budget of a group would grant now. Good: full. Empty: retries wait until first tries have earned some, so they cannot become a storm."},
			lines: []line{{name: "{{client}}", expr: `min by (client) (shedload_retry_budget_balance{run="$run"})`}},
		}},
		{w: 8, h: 8, panel: chart{
			words: words{title: "Adaptive throttle", unit: share,
				about: "Which share of its tries a group does not even send, since too few were accepted of late (0: no throttle, or no reason). Good: 0."},
			max:   1,
			lines: []line{{name: "{{client}}", expr: `max by (client) (shedload_throttle_reject_share{run="$run"})`}},
		}},
		{w: 8, h: 8, panel: timeline{
			words: words{title: "Circuit breakers", unit: "none", none: "these clients have no circuit breaker",
				about: "Closed: tries go out. Open: too many failed, none goes out. Half open: a few find out whether it is over. Good: closed."},
			states: breakers,
			line: line{name: "{{client}}", expr: `max by (client) ((shedload_breaker_state{run="$run", state="closed"} == 1)` +
				` or (shedload_breaker_state{run="$run", state="half_open"} == 1) * 2 or (shedload_breaker_state{run="$run", state="open"} == 1) * 3)`},
		}},
	}}
}
