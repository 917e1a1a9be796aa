package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shedload/internal/ledger"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func create(t *testing.T) *Record {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "record"), Manifest{Scenario: "storm", Hashes: map[string]string{"scenario": "00"}}, clock)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, r *Record, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRecordIsWrittenAsItGoes looks at the folder while the run goes on, as it
// would be found after a crash.
func TestRecordIsWrittenAsItGoes(t *testing.T) {
	r := create(t)
	if err := r.Begin("fifo"); err != nil {
		t.Fatal(err)
	}
	all := rows(true)
	for n := range 4 {
		if err := r.Append(all[:n+1]); err != nil {
			t.Fatal(err)
		}
		kept, err := ReadSeries(strings.NewReader(read(t, r, SeriesFile("fifo"))))
		if err != nil || len(kept) != n+1 || kept[n] != all[n] {
			t.Fatalf("after %d s: kept %d rows, %v", n+1, len(kept), err)
		}
	}
	var m Manifest
	if err := json.Unmarshal([]byte(read(t, r, ManifestFile)), &m); err != nil || !m.Partial || m.Ended != nil {
		t.Errorf("got partial %v, ended %v, %v; want a record that is not closed", m.Partial, m.Ended, err)
	}
	if p, err := Open(r.Dir()); err != nil || len(p.Variants) != 0 {
		t.Errorf("got %d variants, %v", len(p.Variants), err)
	}
}

func TestRecordIsReadBack(t *testing.T) {
	r := create(t)
	vs := variants()
	vs[1].Partial, vs[1].Variant = false, "deadline@server.drop_margin=uniform:50ms/x"
	for _, v := range vs {
		if err := r.Begin(v.Variant); err != nil {
			t.Fatal(err)
		}
		if err := r.Append(v.Rows[:3]); err != nil {
			t.Fatal(err)
		}
		if err := r.Add(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.AddFile("table.csv", []byte("a,b\n")); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(false); err != nil {
		t.Fatal(err)
	}
	p, err := Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if p.Manifest.Partial || p.Manifest.Ended == nil || p.Manifest.Hashes["scenario"] != "00" || p.Manifest.Tool != "shedload" {
		t.Errorf("got %+v", p.Manifest)
	}
	for _, name := range []string{SummaryFile, PageFile, SeriesFile("fifo"), "table.csv"} {
		if got, want := p.Manifest.Hashes[name], Hash([]byte(read(t, r, name))); got != want {
			t.Errorf("%s: hash %s, want %s", name, got, want)
		}
	}
	var before, after bytes.Buffer
	if err := WriteTable(&before, vs, Style{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteTable(&after, p.Variants, Style{}); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Errorf("the table of the record differs:\n%s", after.String())
	}
	if len(p.Variants[1].Rows) != len(vs[1].Rows) {
		t.Errorf("%d rows, want the final %d", len(p.Variants[1].Rows), len(vs[1].Rows))
	}
}

func TestRecordIsPartialWhenAVariantIs(t *testing.T) {
	r := create(t)
	if err := r.Add(variants()[1]); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(false); err != nil {
		t.Fatal(err)
	}
	if p, err := Open(r.Dir()); err != nil || !p.Manifest.Partial {
		t.Errorf("got partial %v, %v", p.Manifest.Partial, err)
	}
}

func TestFolderThatIsInUse(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, Manifest{}, clock); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestDiscard(t *testing.T) {
	r := create(t)
	if err := r.Begin("fifo"); err != nil {
		t.Fatal(err)
	}
	if err := r.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", r.Dir(), err)
	}
}

func TestOpenOfWhatIsNoRecord(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is not the record of a run") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), SummaryFile) {
		t.Errorf("got %v, want the broken file", err)
	}
}

func TestSeries(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSeries(&b, rows(true)); err != nil {
		t.Fatal(err)
	}
	golden(t, "series.csv", b.String())
	const want = "t_s,offered,requests,throughput,goodput,goodput_client,late,refused,dropped,queue,oldest_age_s,in_service,"
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %s, want the columns of the design first", firstLine(b.String()))
	}
	for text, want := range map[string]string{
		"": "header", "a,b\n1,2\n": "no column t_s", "t_s\nx\n": "row 1: t_s", "t_s,queue\n1,x\n": "row 1: queue", "t_s,oldest_age_s\n1,x\n": "oldest_age_s",
	} {
		if _, err := ReadSeries(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	got, err := ReadSeries(strings.NewReader("new,queue,t_s\n1,7,0\n1,8,1\n1,9"))
	if err != nil || len(got) != 2 || got[1].Queue != 8 || got[1].T != 1 {
		t.Errorf("got %+v, %v; want two rows, without the one that was cut off", got, err)
	}
}

// TestSeriesRoundTrip reads back what was written, whatever the numbers.
func TestSeriesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want ledger.Rows
		for i := range rapid.IntRange(0, 20).Draw(t, "rows") {
			row := ledger.Row{T: i}
			for _, c := range columns {
				if c.count != nil {
					*c.count(&row) = rapid.Int64Range(0, 1<<40).Draw(t, c.name)
				} else {
					*c.span(&row) = time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, c.name))
				}
			}
			want = append(want, row)
		}
		var b bytes.Buffer
		if err := WriteSeries(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSeries(&b)
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %d rows, %v; want %d", len(got), err, len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("row %d: got %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

func FuzzReadSeries(f *testing.F) {
	f.Add("t_s,queue\n0,1\n")
	f.Add("t_s\n\"")
	f.Add("queue,t_s,oldest_age_s\n1,0,0.5\n2,")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadSeries(strings.NewReader(text))
		if err == nil && len(rows) > len(text) {
			t.Errorf("%d rows of %d bytes", len(rows), len(text))
		}
	})
}
