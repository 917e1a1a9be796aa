package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"shedload/internal/boot"
	"shedload/internal/client"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
)

// Options say what to run, and against what.
type Options struct {
	Plan scenario.Plan
	// Target is a running system; nil starts one of our own for the plan.
	Target *Target
	// Force begins a run on a target although another one is under way there.
	Force bool
	// KeepPolicy leaves a target's policy as it is. Otherwise it has the plan's for
	// the length of the run.
	KeepPolicy bool
	// Plain is what clients with wait: plain send.
	Plain client.Plain
	Spawn Spawner

	// Progress is told about each second when it is over. Nil tells nobody.
	Progress func(Progress)
	// Started is told of the children of a run that has its own, so that tests can
	// kill one. Nil tells nobody.
	Started func(*Children)
}

// Progress is one second of a run that is over.
type Progress struct {
	At, Left time.Duration
	// Phase is what changes the load, or the capacity, right now; "" nothing.
	Phase string
	// Row is the second; Rows are those from the start on, as far as they are kept.
	Row   ledger.Row
	Rows  ledger.Rows
	State string
}

// Result is what a run has measured.
type Result struct {
	Summary ledger.Summary
	Rows    ledger.Rows
	// Usage is what the processes have used, by program; loadgen from the start of the run.
	Usage map[string]Usage
	// Incident says why the run is partial: interrupted, a child died, the server
	// was another one. Nil when it is whole.
	Incident error
}

// Run plays a plan live, to its end or that of ctx, and returns what it has
// measured. The error says why there is nothing; a run that was cut short has a
// Result with an Incident.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := fits(o.Plan); err != nil {
		return nil, err
	}
	r := &run{options: o, plan: o.Plan, server: o.Plan.Clients[0].Wait != scenario.WaitPlain}
	defer r.close()
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	r.play(ctx)
	return r.result(ctx), nil
}

// fits checks the file limit against the plan.
func fits(p scenario.Plan) error {
	if len(p.Clients) == 0 {
		return errors.New("the plan has no clients")
	}
	needs, err := NeedsOf(p)
	if err != nil {
		return err
	}
	if err := boot.CheckFiles(needs.Conns); err != nil {
		return fmt.Errorf("%s/%s may open %d connections at once: %w", p.Scenario, p.Variant, needs.Conns, err)
	}
	return nil
}

// connect starts the children, or takes the target, and waits until all of it is ready.
func (r *run) connect(ctx context.Context) error {
	target := r.options.Target
	if target == nil {
		if !r.server {
			return errors.New("clients with wait: plain need a target")
		}
		children, err := StartChildren(ctx, r.options.Spawn, r.plan)
		if err != nil {
			return err
		}
		r.children = children
		t := children.Target()
		target = &t
		if r.options.Started != nil {
			r.options.Started(children)
		}
	}
	r.server = r.server && target.APIAdmin != ""
	r.remote = NewRemote(*target)
	var err error
	if r.generator, err = client.New(generatorConfig(r.plan, target.Public, r.options.Plain, r.record)); err != nil {
		return err
	}
	if r.server {
		if err := r.awaitReady(ctx); err != nil {
			return err
		}
		if err := r.setPolicy(ctx); err != nil {
			return err
		}
	}
	return r.generator.Prepare(ctx)
}

// setPolicy switches a target to the plan's policy, and keeps the one before.
func (r *run) setPolicy(ctx context.Context) error {
	if r.children != nil || r.options.KeepPolicy {
		return nil
	}
	before, err := r.remote.Policy(ctx)
	if err != nil {
		return err
	}
	if err := r.remote.SetPolicy(ctx, policyOf(r.plan)); err != nil {
		return err
	}
	r.before = restorable(before)
	return nil
}

// readyTimeout bounds the wait for the apiserver and all workers of our own.
const readyTimeout = 10 * time.Second

// awaitReady waits until the server is ready and, of our own, all workers have come.
func (r *run) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := r.remote.Ready(ctx)
		if err == nil && r.children == nil {
			return nil
		}
		if err == nil {
			var v LedgerView
			if v, err = r.remote.Ledger(ctx, 0); err == nil && v.Workers >= r.plan.Backend.Workers {
				return nil
			}
		}
		if r.children == nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case died := <-r.children.Died():
			return died
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not ready: %w", context.Cause(ctx)), err)
		}
	}
}

// leadTime is how far ahead a run begins: time to tell the server and to find out
// what its clock says.
const leadTime = 300 * time.Millisecond

// begin fixes instant 0 for all parts and brings in the plan's faults.
func (r *run) begin(ctx context.Context) error {
	r.usage = ProcessUsage(os.Getpid())
	r.ledger = ledger.New(ledger.Config{
		Classes: r.plan.ClassNames(), Horizon: horizon(r.plan), Windows: r.plan.Windows, Resolution: r.plan.Model.LatencyUnit,
	})
	r.start = time.Now().Add(leadTime)
	if !r.server {
		return nil
	}
	b := Begin{StartsIn: leadTime, Horizon: r.plan.Horizon, Windows: r.plan.Windows, Force: r.options.Force}
	if err := r.remote.Begin(ctx, b); err != nil {
		return err
	}
	var err error
	if r.start, err = r.remote.zero(ctx); err != nil {
		return err
	}
	for _, f := range r.plan.Faults {
		f.At += time.Until(r.start)
		if err := r.remote.AddFault(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
