package control

import (
	"context"
	"errors"
	"maps"
	"os"
	"time"

	"shedload/internal/client"
	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/internal/work"
)

// run is one plan at work.
//
//	generator ── events ──> ledger <── snapshots, each second ── apiserver
//	                           │
//	                           └── progress, and the result at the end
type run struct {
	options   Options
	plan      scenario.Plan
	server    bool // there is a server's view
	children  *Children
	remote    *Remote
	generator *client.Generator
	usage     Usage // of this process at the start
	start     time.Time

	// The generator's lock guards the ledger; see client.Config.Record.
	ledger   *ledger.Ledger
	merged   int   // rows that came from the server so far
	unheld   int64 // how far the server's own count was off at worst
	failures int   // polls in a row that had no answer

	before   map[string]any // the target's policy, to be restored
	played   bool
	incident error // the first one
}

func (r *run) record(e ledger.Event) { r.ledger.Record(e) }

// happened keeps the first reason for the run to be partial.
func (r *run) happened(err error) {
	if r.incident == nil {
		r.incident = err
	}
}

// pollDelay is how long after a second's end it is asked for: its last events are in by then.
const pollDelay = 50 * time.Millisecond

// play lets the generator run, and takes over the server's view each second.
func (r *run) play(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.played = true
	over := make(chan error, 1)
	go func() { over <- r.generator.Run(ctx, r.start) }()
	var died <-chan error
	if r.children != nil {
		died = r.children.Died()
	}
	for second := 1; ; second++ {
		tick := time.NewTimer(time.Until(r.start.Add(time.Duration(second)*time.Second + pollDelay)))
		select {
		case <-tick.C:
			r.poll(ctx)
			r.tell(second)
		case err := <-died:
			r.happened(err)
			cancel(err)
			died, second = nil, second-1
		case err := <-over:
			tick.Stop()
			if err != nil {
				r.happened(err)
			}
			return
		}
		tick.Stop()
	}
}

// maxFailures is after how many polls in a row without an answer the run says so.
const maxFailures = 3

// poll takes over the server's view.
func (r *run) poll(ctx context.Context) {
	if !r.server {
		return
	}
	// Late events may still change the last rows, so they are asked for again.
	v, err := r.remote.Ledger(ctx, max(0, r.merged-2))
	if err != nil {
		if r.failures++; r.failures == maxFailures {
			r.happened(err)
		}
		return
	}
	r.failures = 0
	r.generator.Do(func(work.Instant) { err = r.merge(v) })
	if err != nil {
		r.happened(err)
	}
}

// merge takes in one snapshot. What the server holds is compared with its events
// in each; past the horizon the ledger stands still while the server goes on.
func (r *run) merge(v LedgerView) error {
	held := v.Held
	v.Held = nil
	if err := r.ledger.Merge(v.Snapshot); err != nil && !errors.Is(err, ledger.ErrOld) {
		return err
	}
	r.merged = v.From + len(v.Rows)
	if held != nil && v.Now() < r.plan.Horizon {
		r.unheld = max(r.unheld, *held-r.ledger.Pending(), r.ledger.Pending()-*held)
	}
	return nil
}

// tell reports the seconds that are over.
func (r *run) tell(second int) {
	if r.options.Progress == nil {
		return
	}
	at := time.Duration(second) * time.Second
	p := Progress{At: at, Left: max(0, r.plan.Horizon-at), Phase: phaseAt(r.plan, at)}
	r.generator.Do(func(work.Instant) {
		p.Rows = r.ledger.Rows(0)
		p.State = r.ledger.State(second, r.plan.Recovery.Reference)
		p.Row, _ = r.ledger.Row(second - 1)
	})
	for len(p.Rows) > 0 && p.Rows[len(p.Rows)-1].T >= second {
		p.Rows = p.Rows[:len(p.Rows)-1]
	}
	r.options.Progress(p)
}

// result is the end: the last snapshot, the summary, and what it all took.
func (r *run) result(ctx context.Context) *Result {
	r.poll(context.WithoutCancel(ctx))
	if r.failures > 0 {
		r.happened(errors.New("the last second of the server's view is missing"))
	}
	stats := r.generator.Stats()
	m := ledger.Meta{
		Scenario: r.plan.Scenario, Variant: r.plan.Variant, Engine: "live", ClientOnly: !r.server,
		Horizon: min(r.plan.Horizon, max(0, time.Since(r.start))), Warmup: r.plan.Warmup, Verdict: r.plan.Recovery,
		InFlight: int64(stats.InFlight), ClientErrors: stats.ClientErrors,
	}
	if r.unheld > 0 {
		held := r.ledger.Pending() + r.unheld
		m.Held = &held
	}
	usage := map[string]Usage{"loadgen": ProcessUsage(os.Getpid()).since(r.usage)}
	if r.children != nil {
		maps.Copy(usage, r.children.Usage())
	}
	if err := r.leave(ctx); err != nil {
		r.happened(err)
	}
	m.Partial = r.incident != nil
	return &Result{Summary: r.ledger.Summary(m), Rows: r.ledger.Rows(0), Usage: usage, Incident: r.incident}
}

// leave stops our own children. A target gets its policy back, and a ledger
// without an end: it goes on serving, and counting, after us.
func (r *run) leave(ctx context.Context) error {
	if r.children != nil {
		children := r.children
		r.children = nil
		return children.Stop(ctx)
	}
	if !r.server {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	err := r.remote.Begin(ctx, Begin{Force: true})
	if r.before != nil {
		err = errors.Join(err, r.remote.SetPolicy(ctx, r.before))
		r.before = nil
	}
	return err
}

// close ends what is still there when the run did not get to its result.
func (r *run) close() {
	if r.generator != nil && !r.played {
		r.generator.Close()
	}
	if r.children != nil || r.before != nil {
		_ = r.leave(context.Background()) // the reason to end early is the one to tell
	}
}
