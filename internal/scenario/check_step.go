package scenario

import (
	"strings"

	"shedload/internal/admit"
	"shedload/internal/retry"
)

// step checks model.step. A model in steps moves crowds, of which everything is
// alike, so it has nothing that draws for each, nothing that waits for less than a
// step, and nothing that learns from single answers.
func (c *checker) step() {
	step := c.e.Model.Step
	if step < 0 || step > c.e.Horizon {
		c.bad(at("model", "step"), "is %s: allowed is 0s (event by event) up to the horizon", step)
	}
	if step <= 0 {
		return
	}
	for i, k := range c.e.Clients {
		path := at("clients", i)
		switch {
		case k.Patience < step:
			c.bad(append(path, "patience"), "is %s: with a model.step of %s allowed is that and more", k.Patience, step)
		case k.Users > 0:
			c.bad(append(path, "users"), "make a closed loop: with model.step allowed is arrivals")
		case k.Retry.Resume:
			c.bad(append(path, "retry", "resume"), "is true: with model.step allowed is false")
		case k.Retry.Backoff.Jitter != retry.NoJitter:
			c.bad(append(path, "retry", "backoff", "jitter"), "is %s: with model.step allowed is none", k.Retry.Backoff.Jitter)
		case k.Processes > 1 && len(k.Gates) > 0:
			c.bad(append(path, "processes"), "is %d: with model.step and gates allowed is 1", k.Processes)
		}
	}
	const disciplines = "with model.step allowed are fifo, lifo, edf and priority, with expired and deadline"
	for _, word := range strings.Split(c.e.Server.Discipline.String(), "+") {
		switch name, _, _ := strings.Cut(word, "("); name {
		case "fifo", "lifo", "edf", "priority", "none", "expired", "deadline":
		default:
			c.bad(at("server", "discipline"), "has %s: %s", name, disciplines)
		}
	}
	if c.e.Server.Discipline.Margin(c.e.Server.DropMargin).Auto {
		c.bad(at("server", "drop_margin"), "is auto: with model.step allowed is a time")
	}
	for _, d := range append([]admit.Spec{c.e.Server.Door}, c.e.Server.Door.And...) {
		switch d.Kind {
		case admit.Open, admit.QueueLimit, admit.InSystem, admit.Priority, admit.Infeasible:
		default:
			c.bad(at("server", "door"), "is %s: with model.step allowed are open, queue_limit, in_system, priority and infeasible", d.Kind)
		}
	}
}
