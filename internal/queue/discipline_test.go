package queue

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestParseDiscipline(t *testing.T) {
	for text, want := range map[string]string{
		"fifo":                           "fifo",
		"fifo+none":                      "fifo",
		"lifo":                           "lifo",
		"lifo+evict":                     "lifo+evict",
		"lifo+evict(60)":                 "lifo+evict(60)",
		"edf+evict+expired":              "edf+expired+evict",
		"priority+codel":                 "priority+codel",
		"deadline":                       "fifo+deadline",
		"deadline(0s)":                   "fifo+deadline(0s)",
		"deadline(auto)+codel":           "fifo+deadline(auto)+codel",
		"fifo+deadline(70ms)":            "fifo+deadline(70ms)",
		"fifo+codel+deadline+expired":    "fifo+expired+deadline+codel",
		"adaptive-lifo":                  "adaptive-lifo+deadline(auto)",
		"adaptive-lifo+none":             "adaptive-lifo+none",
		"adaptive-lifo+evict":            "adaptive-lifo+deadline(auto)+evict",
		"adaptive-lifo+none+evict(9)":    "adaptive-lifo+none+evict(9)",
		"adaptive-lifo+controlled-delay": "adaptive-lifo+controlled-delay",
		"adaptive-lifo+deadline":         "adaptive-lifo+deadline",
	} {
		d, err := ParseDiscipline(text)
		if err != nil || d.String() != want {
			t.Errorf("%q = %v, %v; want %s", text, d, err, want)
		}
		if again, err := ParseDiscipline(want); again != d || err != nil {
			t.Errorf("%q read back as %v, %v", want, again, err)
		}
	}
	if (Discipline{}).String() != "fifo" {
		t.Error("the zero discipline is not fifo")
	}
}

func TestParseDisciplineRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "unknown order",
		"FIFO":                      "allowed are fifo, lifo, edf, priority, adaptive-lifo",
		"fifo ":                     "unknown order",
		"codel":                     "unknown order",
		"fifo+":                     "unknown shed",
		"fifo+coddle":               "allowed are none, expired, deadline",
		"fifo+lifo":                 "unknown shed",
		"fifo+codel+codel":          "given twice",
		"fifo+deadline+deadline":    "given twice",
		"fifo+evict+evict(3)":       "given twice",
		"fifo+none+none":            "given twice",
		"fifo+none+codel":           "none together",
		"fifo+codel(5ms)":           "unknown shed",
		"fifo+deadline(":            "closing bracket",
		"fifo+deadline()":           "allowed are a duration from 0s to 1h",
		"fifo+deadline(-1ms)":       "allowed are a duration from 0s to 1h",
		"fifo+deadline(2h)":         "allowed are a duration from 0s to 1h",
		"fifo+evict(0)":             "allowed is a whole number",
		"fifo+evict(+5)":            "lacks its closing bracket",
		"fifo+evict(05)":            "allowed is a whole number",
		"fifo+evict(99999999999)":   "allowed is a whole number",
		strings.Repeat("fifo+", 99): "allowed are up to 128",
	} {
		d, err := ParseDiscipline(text)
		if err == nil || !strings.Contains(err.Error(), want) || d != (Discipline{}) {
			t.Errorf("%q = %v, %v; want an error with %q", text, d, err, want)
		}
	}
}

func TestParseMargin(t *testing.T) {
	for text, want := range map[string]Margin{
		"auto": {Auto: true}, "0s": {}, "0": {}, "70ms": {D: 70 * time.Millisecond}, "1h": {D: time.Hour}, "60m": {D: time.Hour},
	} {
		if m, err := ParseMargin(text); err != nil || m != want {
			t.Errorf("%q = %v, %v; want %v", text, m, err, want)
		}
	}
	for _, text := range []string{"", "70", "AUTO", "-1ms", "+1ms", "-0s", "1h1ns", "70 ms", "1e3s"} {
		if m, err := ParseMargin(text); err == nil || !strings.Contains(err.Error(), "70ms, or auto") {
			t.Errorf("%q = %v, %v; want an error that says what is allowed", text, m, err)
		}
	}
}

func TestMarginPrecedence(t *testing.T) {
	given := Margin{D: 55 * time.Millisecond}
	for _, c := range []struct {
		text  string
		given *Margin
		want  string
	}{
		{"fifo", &given, "0s"},
		{"fifo+expired", &given, "0s"},
		{"deadline", nil, "70ms"},
		{"deadline", &Margin{}, "0s"},
		{"deadline(30ms)", nil, "30ms"},
		{"deadline(30ms)", &given, "55ms"},
		{"adaptive-lifo", nil, "auto"},
		{"adaptive-lifo", &given, "55ms"},
	} {
		if got := discipline(t, c.text).Margin(c.given).String(); got != c.want {
			t.Errorf("%s with %v works with %s, want %s", c.text, c.given, got, c.want)
		}
	}
}

func TestTextFormsInJSON(t *testing.T) {
	type policy struct {
		Discipline Discipline `json:"discipline"`
		Margin     *Margin    `json:"drop_margin"`
	}
	const text = `{"discipline":"lifo+deadline+evict(60)","drop_margin":"auto"}`
	var p policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(p); err != nil || string(got) != text {
		t.Errorf("%s, %v; want %s", got, err, text)
	}
	if err := json.Unmarshal([]byte(`{"discipline":"fast"}`), &p); err == nil || p.Discipline.String() != "lifo+deadline+evict(60)" {
		t.Errorf("a wrong text left %v, %v", p.Discipline, err)
	}
	if err := json.Unmarshal([]byte(`{"drop_margin":"soon"}`), &p); err == nil || !p.Margin.Auto {
		t.Errorf("a wrong text left %v, %v", p.Margin, err)
	}
}

func FuzzParseDiscipline(f *testing.F) {
	for _, seed := range []string{
		"fifo", "deadline", "adaptive-lifo", "adaptive-lifo+none", "lifo+evict(60)", "edf+expired+deadline(auto)+codel+controlled-delay",
		"fifo+deadline(70ms)", "deadline(", "+", "fifo++", "none",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDiscipline(text)
		if err != nil {
			if d != (Discipline{}) || err.Error() == "" {
				t.Fatalf("%q: %v with %v", text, d, err)
			}
			return
		}
		again, err := ParseDiscipline(d.String())
		if err != nil || again != d || again.String() != d.String() {
			t.Fatalf("%q is %v, read back as %v, %v", text, d, again, err)
		}
		New(Config{Discipline: d})
	})
}

func FuzzParseMargin(f *testing.F) {
	for _, seed := range []string{"auto", "0s", "70ms", "1h", "1.5ms", "-1s", "9999999h", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMargin(text)
		if err != nil {
			return
		}
		if m.D < 0 || m.D > maxMargin {
			t.Fatalf("%q is %v", text, m.D)
		}
		if again, err := ParseMargin(m.String()); err != nil || again != m {
			t.Fatalf("%q is %v, read back as %v, %v", text, m, again, err)
		}
	})
}
