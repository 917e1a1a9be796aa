package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"shedload/internal/ledger"
	"shedload/internal/scenario"
	"shedload/test/need"
)

// observed is what one run says about a queue, after a warm-up.
type observed struct {
	wait, sojourn float64 // means, in seconds
	waited        float64 // share that waited at all
	beyond        float64 // share that waited longer than limit
	inSystem      float64 // mean number in the system, sampled each second
	rate          float64 // of those who were let in
	refused       float64 // share
}

const warmup = 60 * second

func observe(t *testing.T, p scenario.Plan, limit time.Duration) observed {
	t.Helper()
	var o observed
	var arrived, started, finished, refused float64
	r, err := Watch(p, func(e ledger.Event) {
		if e.Unit.Enqueued < warmup || e.At < warmup {
			return
		}
		switch e.Kind {
		case ledger.Arrived:
			arrived++
		case ledger.Refused:
			refused++
		case ledger.Started:
			wait := e.At.Sub(e.Unit.Enqueued)
			started++
			o.wait += wait.Seconds()
			if wait > 0 {
				o.waited++
			}
			if wait > limit {
				o.beyond++
			}
		case ledger.Finished:
			finished++
			o.sojourn += e.At.Sub(e.Unit.Enqueued).Seconds()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Ledger.Rows(int(warmup / second))
	for _, row := range rows {
		o.inSystem += float64(row.Queue+row.InService) / float64(len(rows))
	}
	o.wait, o.waited, o.beyond, o.sojourn = o.wait/started, o.waited/started, o.beyond/started, o.sojourn/finished
	o.rate, o.refused = (arrived-refused)/float64(len(rows)), refused/arrived
	return o
}

// runs is how many seeds a confidence interval stands on: 4.07 is the 99.9 % point
// (two-sided) of Student's t with 15 degrees of freedom.
const (
	runsPerInterval = 16
	student         = 4.07
)

// agree checks that the mean of a figure over the seeds lies within its 99.9 %
// confidence interval around what theory says.
func agree(t *testing.T, what string, sample []float64, theory float64) {
	t.Helper()
	mean, variance := 0.0, 0.0
	for _, x := range sample {
		mean += x / float64(len(sample))
	}
	for _, x := range sample {
		variance += (x - mean) * (x - mean) / float64(len(sample)-1)
	}
	half := student * math.Sqrt(variance/float64(len(sample)))
	t.Logf("%s: %.5g ± %.2g, theory %.5g", what, mean, half, theory)
	if math.Abs(mean-theory) > half {
		t.Errorf("%s is %.5g ± %.2g, theory says %.5g", what, mean, half, theory)
	}
	if half > 0.15*math.Abs(theory) {
		t.Errorf("%s: ± %.2g of %.5g says nothing", what, half, theory)
	}
}

func theorySample(t *testing.T, text string, limit time.Duration) []observed {
	t.Helper()
	need.NoRace(t)
	p := inline(t, text)[0]
	var out []observed
	for i := range runsPerInterval {
		out = append(out, observe(t, seeded(p, uint64(i+1)), limit))
	}
	return out
}

func column(sample []observed, of func(observed) float64) []float64 {
	out := make([]float64, len(sample))
	for i, o := range sample {
		out[i] = of(o)
	}
	return out
}

// erlangB is the share of calls that find all c lines busy, at an offered load of a.
func erlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// erlangC is the share of calls that have to wait for one of c servers.
func erlangC(c int, a float64) float64 {
	b := erlangB(c, a)
	return b / (1 - a/float64(c)*(1-b))
}

const queueScenario = `name: theory
horizon: 660s
server: {discipline: %s, door: %s}
backend: {workers: %d, service_time: "%s"}
clients: [{name: users, arrivals: poisson, rate: %v, patience: 1h}]
`

// TestMMc: Poisson arrivals, exponential service, c servers. Erlang C gives who
// waits, the mean wait and its exponential tail; Little's law ties the number in the
// system to it.
func TestMMc(t *testing.T) {
	for _, c := range []struct {
		workers int
		rate    float64
	}{{1, 14}, {4, 60}, {10, 180}} {
		const mean = 0.05
		n, a := float64(c.workers), c.rate*mean
		waits := erlangC(c.workers, a)
		drain := n/mean - c.rate
		const limit = 40 * time.Millisecond
		name := fmt.Sprintf("M/M/%d at %.0f %%: ", c.workers, 100*a/n)
		sample := theorySample(t, fmt.Sprintf(queueScenario, "fifo", "open", c.workers, "exp:50ms", c.rate), limit)
		agree(t, name+"share that waits", column(sample, func(o observed) float64 { return o.waited }), waits)
		agree(t, name+"mean wait", column(sample, func(o observed) float64 { return o.wait }), waits/drain)
		agree(t, name+"share that waits over 40 ms", column(sample, func(o observed) float64 { return o.beyond }), waits*math.Exp(-drain*limit.Seconds()))
		agree(t, name+"mean number in the system", column(sample, func(o observed) float64 { return o.inSystem }), a+c.rate*waits/drain)
		little(t, name, sample)
	}
}

// little checks Little's law within each run: L = λW, of sampled numbers against
// measured times, whatever the distributions are.
func little(t *testing.T, name string, sample []observed) {
	t.Helper()
	agree(t, name+"L / λW", column(sample, func(o observed) float64 { return o.inSystem / (o.rate * o.sojourn) }), 1)
}

// TestMD1: with a fixed service time the wait is half that of M/M/1 (Pollaczek and
// Khinchine), also when the newest is served first: the order changes who waits, not
// how long on average.
func TestMD1(t *testing.T) {
	const rate, mean = 14.0, 0.05
	rho := rate * mean
	for _, discipline := range []string{"fifo", "lifo"} {
		sample := theorySample(t, fmt.Sprintf(queueScenario, discipline, "open", 1, "50ms", rate), 0)
		agree(t, "M/D/1 "+discipline+": mean wait", column(sample, func(o observed) float64 { return o.wait }), rho*mean/(2*(1-rho)))
		agree(t, "M/D/1 "+discipline+": share that waits", column(sample, func(o observed) float64 { return o.waited }), rho)
		little(t, "M/D/1 "+discipline+": ", sample)
	}
}

// TestErlangB: a door that lets in no more than there are workers loses what Erlang B
// says, whatever the distribution of service times.
func TestErlangB(t *testing.T) {
	for _, service := range []string{"exp:50ms", "50ms", "lognormal:40ms,p99=150ms"} {
		p := inline(t, fmt.Sprintf(queueScenario, "fifo", "in_system:4", 4, service, 80.0))[0]
		a := 80 * p.Backend.ServiceTime.Mean().Seconds()
		sample := theorySample(t, fmt.Sprintf(queueScenario, "fifo", "in_system:4", 4, service, 80.0), 0)
		agree(t, service+": share refused", column(sample, func(o observed) float64 { return o.refused }), erlangB(4, a))
		little(t, service+": ", sample)
	}
}

// TestClosedLoop: the response time law. N users who think for Z and wait for R make
// N / (R + Z) requests a second.
func TestClosedLoop(t *testing.T) {
	const users, think = 12.0, 0.2
	sample := theorySample(t, `name: theory
horizon: 660s
backend: {workers: 2, service_time: "exp:50ms"}
clients: [{name: users, users: 12, think_time: "exp:200ms", patience: 1h}]
`, 0)
	agree(t, "X (R + Z) / N", column(sample, func(o observed) float64 { return o.rate * (o.sojourn + think) / users }), 1)

	// The same as a birth and death chain: k users are not thinking.
	p, sum, waiting := 1.0, 1.0, 0.0
	for k := 1; k <= users; k++ {
		birth, death := (users-float64(k-1))/think, math.Min(float64(k), 2)/0.05
		p *= birth / death
		sum += p
		waiting += float64(k) * p
	}
	agree(t, "M/M/2//12: mean number in the system", column(sample, func(o observed) float64 { return o.inSystem }), waiting/sum)
}
