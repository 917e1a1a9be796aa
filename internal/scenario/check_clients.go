package scenario

import (
	"cmp"
	"errors"
	"time"

	"shedload/internal/arrival"
)

// clients checks the groups of users: their arrivals, and what they do when it goes wrong.
func (c *checker) clients() {
	if n := len(c.e.Clients); n == 0 || n > maxClients {
		c.bad(at("clients"), "are %d: allowed is 1 to %d", n, maxClients)
		return
	}
	seen := map[string]bool{}
	for i, k := range c.e.Clients {
		path := at("clients", i)
		if !validName(k.Name) || seen[k.Name] {
			c.bad(append(path, "name"), "%q: each client has a name of its own, of lower-case letters, digits and .+-_", k.Name)
		}
		seen[k.Name] = true
		c.load(path, k)
		c.patience(path, k)
	}
}

func (c *checker) load(path []any, k Client) {
	switch {
	case k.Users < 0:
		c.bad(append(path, "users"), "is %d: allowed is 1 and more", k.Users)
	case k.Users > 0 && (k.Arrivals.Kind != 0 || k.Arrivals.Rate != 0 || k.Trace != ""):
		c.bad(append(path, "users"), "makes a closed loop: arrivals, rate and trace do not go with it")
	case k.Users > 0:
	case k.Arrivals.Kind == arrival.Trace && k.Trace == "":
		c.bad(path, "has arrivals: trace and needs trace, the file of the arrivals")
	case k.Arrivals.Kind != arrival.Trace && k.Trace != "":
		c.bad(append(path, "trace"), "is given, but arrivals are %s: it goes with arrivals: trace", k.Arrivals.Kind)
	case k.Arrivals.Rate == 0 && (k.Arrivals.Kind == arrival.Even || k.Arrivals.Kind == arrival.Poisson):
		c.bad(append(path, "rate"), "is 0: allowed is more than 0, up to %v a second", float64(arrival.MaxRate))
	default:
		if err := k.Arrivals.Validate(); err != nil {
			c.blame(path, cmp.Or(errors.Unwrap(err), err)) // without the kind in front
		} else if k.Arrivals.From >= c.e.Horizon {
			c.bad(append(path, "from"), "is %s: the run is over at %s", k.Arrivals.From, c.e.Horizon)
		}
	}
}

func (c *checker) patience(path []any, k Client) {
	switch {
	case k.Patience <= 0 || k.Patience > time.Hour:
		c.bad(append(path, "patience"), "is %s: allowed is more than 0s, up to 1h", k.Patience)
	case k.RequestDeadline < 0:
		c.bad(append(path, "request_deadline"), "is %s: allowed is 0s (none) and more", k.RequestDeadline)
	case k.Processes < 1 || k.Processes > maxClients:
		c.bad(append(path, "processes"), "is %d: allowed is 1 to %d", k.Processes, maxClients)
	}
	for j, g := range k.Gates {
		c.blame(append(path, "gates", j), g.Validate())
	}
	if err := k.Retry.Validate(); err != nil {
		c.blame(append(path, "retry"), err)
	} else {
		c.blame(path, k.population().Validate())
	}
}
