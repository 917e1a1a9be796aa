package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shedload/internal/deadline"
	"shedload/internal/station"
	"shedload/internal/work"
)

const leasesPath = "/v1/leases"

// The bounds of a worker's request.
const (
	maxLeaseBody = 2 << 20
	maxBatch     = 10_000 // reports, and workers asked for
	maxWorkName  = 128
	maxWorkMs    = 24 * 3600 * 1e3
)

// leaseRequest is the body of POST /v1/leases.
type leaseRequest struct {
	Worker  string `json:"worker"`
	Workers int    `json:"workers"` // that the process has; 0: those it has asked for
	Want    int    `json:"want"`    // that are idle
	// Leave releases all that the worker's other requests wait for.
	Leave bool         `json:"leave"`
	Done  []doneReport `json:"done"`
}

type doneReport struct {
	Lease  string  `json:"lease"`
	OK     bool    `json:"ok"`
	WorkMS float64 `json:"work_ms"`
}

// leases answers POST /v1/leases: it takes the reports, and holds the answer
// until there is work for the idle workers.
func (s *Server) leases(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != leasesPath {
		s.problem(w, http.StatusNotFound, "there is nothing at this path: leases are at "+leasesPath)
		return
	}
	if !s.allow(w, r, http.MethodPost) {
		return
	}
	req, err := readLeaseRequest(w, r)
	if err != nil {
		s.notUnderstood()
		s.problem(w, bodyStatus(err), "body: "+err.Error())
		return
	}
	switch t := s.turn(r, req); {
	case len(t.stale) > 0:
		s.answerStale(w, t.stale)
	case t.refused != "":
		w.Header()["Retry-After"] = []string{"1"}
		s.problem(w, http.StatusServiceUnavailable, t.refused)
	case t.poll == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		if s.idlePoll(t.poll) {
			s.answerLeases(w, t.poll)
		}
		s.freePoll(t.poll)
	}
}

// turn is what came of a worker's request under the lock.
type turn struct {
	poll    *poll    // with units, or parked; nil when none was asked for
	stale   []string // reports that came too late. A refusal carries no leases: the worker is to ask again
	refused string   // why no work is given
}

// turn takes what a worker has done and then finds it new work, or parks its poll.
func (s *Server) turn(r *http.Request, req *leaseRequest) (t turn) {
	now := s.lock(s.clock())
	defer s.unlock()
	for i := range req.Done {
		if !s.finishLocked(&req.Done[i], now) {
			t.stale = append(t.stale, req.Done[i].Lease)
		}
	}
	if req.Leave {
		s.leaveLocked(req.Worker)
		return t
	}
	m := s.workers.seen(req, now)
	s.countWorkersLocked()
	switch {
	case len(t.stale) > 0 || req.Want == 0:
	case s.closing && len(req.Done) > 0: // the reports were taken; the next request is refused
	case s.closing:
		t.refused = "the server is shutting down"
	case m == nil:
		t.refused = fmt.Sprintf("there are %d worker processes already, the most that is allowed", maxMembers)
	default:
		t.poll = s.newPoll(r.Context(), m, req.Want)
		s.polls.push(t.poll)
		// Those who were idle before come first.
		s.dispatchLocked()
	}
	return t
}

// finishLocked ends a leased unit. A report that comes twice, because the answer
// to the first was lost on the way, is taken as it is.
func (s *Server) finishLocked(d *doneReport, now work.Instant) bool {
	id, ok := s.ids.parse(leaseID, d.Lease)
	if !ok {
		return false // of another life of this server
	}
	if rec, ok := s.ops.records[id]; ok && !rec.pending() && rec.reason != work.LostUnit {
		return true
	}
	took := time.Duration(d.WorkMS * float64(time.Millisecond))
	return s.station.Finish(id, station.Done{Work: took, OK: d.OK}, now)
}

// leaveLocked lets a worker go: its polls are answered with nothing, so that no
// unit can be on its way to it any more when it ends.
func (s *Server) leaveLocked(name string) {
	m := s.workers.members[name]
	for p := s.polls.first; p != nil; {
		next := p.next
		if p.member == m {
			s.releaseLocked(p)
		}
		p = next
	}
	delete(s.workers.members, name)
	s.countWorkersLocked()
}

func (s *Server) notUnderstood() {
	s.mu.Lock()
	s.counts.Malformed++
	s.mu.Unlock()
}

func readLeaseRequest(w http.ResponseWriter, r *http.Request) (*leaseRequest, error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLeaseBody))
	d.DisallowUnknownFields()
	var req leaseRequest
	if err := d.Decode(&req); err != nil {
		return nil, jsonError(err, "worker, workers, want, leave, done: [{lease, ok, work_ms}]")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return &req, req.check()
}

// jsonError says what is wrong with a body in the sender's words.
func jsonError(err error, allowed string) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return fmt.Errorf("%w: allowed are up to %d bytes", errTooLarge, large.Limit)
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s: allowed are %s", field, allowed)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func (r *leaseRequest) check() error {
	switch {
	case r.Worker == "" || len(r.Worker) > maxWorkName:
		return fmt.Errorf("worker: %d characters: allowed are 1 to %d", len(r.Worker), maxWorkName)
	case r.Workers < 0 || r.Workers > maxBatch:
		return fmt.Errorf("workers: %d: allowed are 0 to %d", r.Workers, maxBatch)
	case r.Want < 0 || r.Want > maxBatch:
		return fmt.Errorf("want: %d: allowed are 0 to %d", r.Want, maxBatch)
	case len(r.Done) > maxBatch:
		return fmt.Errorf("done: %d reports: allowed are up to %d", len(r.Done), maxBatch)
	}
	for i, d := range r.Done {
		if !wellFormed(d.Lease) {
			return fmt.Errorf("done[%d].lease: %.40q is no lease: allowed are %d hexadecimal digits", i, d.Lease, idLength)
		}
		if d.WorkMS < 0 || d.WorkMS > maxWorkMs {
			return fmt.Errorf("done[%d].work_ms: %v: allowed are 0 to %v", i, d.WorkMS, maxWorkMs)
		}
	}
	return nil
}

// answerStale names the leases that were given up before their report came.
func (s *Server) answerStale(w http.ResponseWriter, stale []string) {
	w.Header()["Content-Type"] = typeProblem
	b := s.buffer()
	b.b = appendProblem(b.b, http.StatusConflict, "reported after the lease had ended")
	b.b = append(b.b, `,"stale":[`...)
	for i, lease := range stale {
		if i > 0 {
			b.b = append(b.b, ',')
		}
		b.b = appendJSONString(b.b, lease)
	}
	b.b = append(b.b, "]}\n"...)
	s.send(w, http.StatusConflict, b)
}

// answerLeases writes what was taken for the poll. If the connection turns out
// to be dead, all of it is lost: the worker cannot have it.
func (s *Server) answerLeases(w http.ResponseWriter, p *poll) {
	if len(p.units) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	b := s.buffer()
	b.b = append(b.b, `{"leases":[`...)
	for i := range p.units {
		if i > 0 {
			b.b = append(b.b, ',')
		}
		b.b = s.appendLease(b.b, &p.units[i], p.handed)
	}
	b.b = append(b.b, `],"load":{"queued":`...)
	b.b = strconv.AppendInt(b.b, int64(p.load.Queued), 10)
	b.b = append(b.b, `,"in_service":`...)
	b.b = strconv.AppendInt(b.b, int64(p.load.InService), 10)
	b.b = append(b.b, `,"workers":`...)
	b.b = strconv.AppendInt(b.b, int64(p.load.Workers), 10)
	b.b = append(b.b, "}}\n"...)
	h := w.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(b.b))} // or the flush would make it chunked
	s.send(w, http.StatusOK, b)
	// Only a flush tells whether the connection took it.
	err := http.NewResponseController(w).Flush()
	if (err != nil && !errors.Is(err, errors.ErrUnsupported)) || p.ctx.Err() != nil {
		s.lose(p)
	}
}

func (s *Server) appendLease(b []byte, u *work.Unit, now work.Instant) []byte {
	b = append(b, `{"lease":"`...)
	b = s.ids.append(b, leaseID, u.ID)
	b = append(b, `","operation":"`...)
	b = s.ids.append(b, operationID, u.ID)
	b = append(b, `","request":"`...)
	b = strconv.AppendUint(b, u.Request, 10)
	b = append(b, `","attempt":`...)
	b = strconv.AppendUint(b, uint64(u.Attempt), 10)
	if len(s.class) > 0 {
		b = append(b, `,"class":`...)
		b = appendJSONString(b, s.class[u.Class].Name)
	}
	if u.Deadline != work.Never {
		b = append(b, `,"timeout_ms":"`...)
		b = append(b, deadline.Format(u.Deadline.Sub(now))...)
		b = append(b, '"')
	}
	return append(b, '}')
}
