package ledger

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// columns are a run in the form of the vectors: one number a second.
type columns struct {
	Requests   []int64 `json:"requests"`
	Goodput    []int64 `json:"goodput"`
	FirstOK    []int64 `json:"first_attempt_ok"`
	Throughput []int64 `json:"throughput"`
	Offered    []int64 `json:"offered"`
	Queue      []int64 `json:"queue"`
}

func (c columns) rows() Rows {
	rows := make(Rows, len(c.Requests))
	for i := range rows {
		rows[i].T = i
		rows[i].Requests, rows[i].GoodputClient, rows[i].FirstOK = c.Requests[i], c.Goodput[i], c.FirstOK[i]
		rows[i].Throughput, rows[i].Offered, rows[i].Queue = c.Throughput[i], c.Offered[i], c.Queue[i]
	}
	return rows
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// TestVerdictVectors judges the worked cases that the definition comes with.
func TestVerdictVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/verdict-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Defaults struct {
			Window, Hold, Few, Down, Back, Half, Gain, Room float64
			Relapses                                        int
		}
		Vectors []struct {
			Name     string
			Patience float64    `json:"patience_s"`
			Trigger  *[]float64 `json:"trigger_s"`
			Rows     columns
			Expected struct {
				Verdict string   `json:"verdict"`
				After   *float64 `json:"goodput_after_s"`
				Users   string   `json:"users_verdict"`
				UsersAt *float64 `json:"users_after_s"`
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	d := file.Defaults
	if d.Window != windowUnits || d.Hold != holdUnits || d.Few != fewRequests || d.Down != downBelow || d.Back != backAt ||
		d.Half != halfLevel || d.Gain != gainOver || d.Room != 1+noiseRoom || d.Relapses != oscillating {
		t.Errorf("the defaults %+v are not ours", d)
	}
	if len(file.Vectors) != 6 {
		t.Fatalf("%d vectors, want 6", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		c := VerdictConfig{Patience: seconds(v.Patience)}
		if v.Trigger != nil {
			c.Trigger = Span{From: seconds((*v.Trigger)[0]), To: seconds((*v.Trigger)[1])}
		}
		got, want := Judge(v.Rows.rows(), c), v.Expected
		if got.Verdict != want.Verdict || got.UsersVerdict != want.Users || !same(got.GoodputAfterS, want.After) || !same(got.UsersAfterS, want.UsersAt) {
			t.Errorf("%s: %s after %v, users %s after %v; want %s after %v, users %s after %v", v.Name, got.Verdict, show(got.GoodputAfterS),
				got.UsersVerdict, show(got.UsersAfterS), want.Verdict, show(want.After), want.Users, show(want.UsersAt))
		}
		s := Summary{Recovery: got, Generator: Generator{Delivered: true}}
		t.Logf("%s: %s", v.Name, s.Sentence())
	}
}

func same(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func show(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}
