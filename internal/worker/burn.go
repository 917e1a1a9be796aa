package worker

import "runtime"

// burn works on j by keeping a processor busy for the job's time, measured in
// processor time where the system can: jobs that share a processor slow each
// other down, which is the point.
func (w *Worker) burn(j job) {
	burnCPU(w.base, j.took)
	w.mu.Lock()
	defer w.mu.Unlock()
	// A pause cannot stop a processor that burns already; it holds back the end.
	j.from, j.took = w.config.Clock(), 0
	j.end = w.model.End(j.from, 0)
	w.running.push(j)
	w.wakeLocked()
}

// spin keeps a processor busy for some ten microseconds.
func spin() {
	x := uint64(1)
	for range 20_000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	runtime.KeepAlive(x)
}
