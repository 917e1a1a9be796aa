package boot

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreThoseOfTheDesign(t *testing.T) {
	a, err := Load[APIServer]("apiserver", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Load[Backend]("backend", []string{"PATH=/bin", "OTHER=1"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Load[Loadgen]("loadgen", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := append(append(Effective(&a), Effective(&b)...), Effective(&l)...)
	for _, want := range []Setting{
		{"SHEDLOAD_LISTEN_ADDR", "127.0.0.1:8080"}, {"SHEDLOAD_WORKER_ADDR", "127.0.0.1:8081"},
		{"SHEDLOAD_ADMIN_ADDR", "127.0.0.1:9100"}, {"SHEDLOAD_ADMIN_ADDR", "127.0.0.1:9101"},
		{"SHEDLOAD_CONTROL_ADDR", "127.0.0.1:9102"}, {"SHEDLOAD_ADMIN_OPEN", "false"},
		{"SHEDLOAD_QUEUE_DISCIPLINE", "fifo"}, {"SHEDLOAD_SILENT_DROPS", "false"},
		{"SHEDLOAD_CODEL_TARGET", "5ms"}, {"SHEDLOAD_CODEL_INTERVAL", "100ms"}, {"SHEDLOAD_DOOR", "open"},
		{"SHEDLOAD_QUEUE_HARD_LIMIT", "1000000"}, {"SHEDLOAD_CANCEL_ABANDONED", "false"},
		{"SHEDLOAD_LEASE_TIMEOUT", "10s"}, {"SHEDLOAD_RETENTION", "1m0s"}, {"SHEDLOAD_MAX_BODY_BYTES", "65536"},
		{"SHEDLOAD_LOG_LEVEL", "info"}, {"SHEDLOAD_WORKERS", "4"}, {"SHEDLOAD_SERVICE_TIME", "50ms"},
		{"SHEDLOAD_WORK", "sleep"}, {"SHEDLOAD_DEGRADE", "none"},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s=%s in %v", want.Name, want.Value, got)
		}
	}
}

// TestWrongEnvironment has one wrong variable each: the error must name it, the
// value, and what is allowed.
func TestWrongEnvironment(t *testing.T) {
	for _, c := range []struct{ program, variable, value, want string }{
		{"apiserver", "LISTEN_ADDR", "8080", "HOST:PORT"},
		{"apiserver", "LISTEN_ADDR", "localhost:http", "HOST:PORT"},
		{"apiserver", "WORKER_ADDR", "[::1]:70000", "0 to 65535"},
		{"apiserver", "ADMIN_OPEN", "yes", "true or false"},
		{"apiserver", "QUEUE_DISCIPLINE", "filo", "lifo"},
		{"apiserver", "QUEUE_DISCIPLINE", "fifo+magic", "deadline"},
		{"apiserver", "DROP_MARGIN", "70", "auto"},
		{"apiserver", "DROP_MARGIN", "-70ms", "auto"},
		{"apiserver", "CODEL_TARGET", "0s", "from 1us to 1h"},
		{"apiserver", "CODEL_INTERVAL", "fast", "a duration (250ms, 10s) from 1us to 1h"},
		{"apiserver", "DOOR", "ajar", "open"},
		{"apiserver", "CLASSES", "pay", "NAME:CRITICALITY"},
		{"apiserver", "CLASSES", "pay:vital", "critical_plus"},
		{"apiserver", "CLASSES", "pay:critical,pay:critical", "unique"},
		{"apiserver", "CLASSES", "Pay\n:critical", "lower-case"},
		{"apiserver", "QUEUE_HARD_LIMIT", "0", "from 1 to 50000000"},
		{"apiserver", "QUEUE_HARD_LIMIT", "1e6", "a whole number"},
		{"apiserver", "LEASE_TIMEOUT", "1ms", "from 10ms"},
		{"apiserver", "RETENTION", "10d", "a duration"},
		{"apiserver", "MAX_BODY_BYTES", "-1", "from 0"},
		{"apiserver", "LOG_LEVEL", "loud", "debug, info, warn, error"},
		{"backend", "API_URL", "127.0.0.1:8081", "http://HOST:PORT"},
		{"backend", "API_URL", "http://user:secret@host", "http://HOST:PORT"},
		{"backend", "WORKERS", "0", "from 1 to 10000"},
		{"backend", "WORKERS", "9999999999", "from 1 to 10000"},
		{"backend", "SERVICE_TIME", "normal:50ms", "uniform"},
		{"backend", "WORK", "play", "sleep, cpu"},
		{"backend", "DEGRADE", "much", "none"},
		{"backend", "SEED", "-1", "a whole number"},
		{"loadgen", "RUN", "FIFO", "lower-case"},
		{"loadgen", "LANES", "fifo", "RUN=TARGET_URL"},
		{"loadgen", "LANES", "a=http://h:1,a=http://h:2", "a name of its own"},
		{"loadgen", "LANES", "a=h:1", "http://HOST:PORT"},
		{"loadgen", "LANES", "a=http://h:1+h:2", "http://HOST:PORT"},
		{"loadgen", "TARGET_URL", "https://example.org/path", "http://HOST:PORT"},
		{"backend", "QUEUE_DISIPLINE", "lifo", "did you mean SHEDLOAD_QUEUE_DISCIPLINE?"},
		{"backend", "FROBNICATE", "1", "no program knows this variable"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			err := load(c.program, []string{Prefix + c.variable + "=" + c.value})
			var all *ConfigError
			if !errors.As(err, &all) || len(all.Wrong) != 1 {
				t.Fatalf("got %v, want one wrong variable", err)
			}
			var w WrongVar
			if !errors.As(all.Wrong[0], &w) || w.Name != Prefix+c.variable {
				t.Errorf("got %q, want it to name %s", all.Wrong[0], c.variable)
			}
			if !strings.Contains(w.Problem, c.want) {
				t.Errorf("got %q, want it to say %q", w.Problem, c.want)
			}
			if w.Value != c.value && w.Value != "…" {
				t.Errorf("got value %q, want %q", w.Value, c.value)
			}
		})
	}
}

func load(program string, environ []string) error {
	var err error
	switch program {
	case "apiserver":
		_, err = Load[APIServer](program, environ)
	case "backend":
		_, err = Load[Backend](program, environ)
	default:
		_, err = Load[Loadgen](program, environ)
	}
	return err
}

func TestEverythingWrongIsReportedAtOnce(t *testing.T) {
	_, err := Load[APIServer]("apiserver", []string{
		"SHEDLOAD_DOOR=ajar", "SHEDLOAD_RETENTION=never", "SHEDLOAD_QUEUE_HARD_LIMIT=-4", "SHEDLOAD_QEUE=1", "SHEDLOAD_WORKERS=4",
	})
	var all *ConfigError
	if !errors.As(err, &all) || len(all.Wrong) != 4 {
		t.Fatalf("got %v, want four wrong variables", err)
	}
	if lines := strings.Count(err.Error(), "\n"); lines != 4 {
		t.Errorf("got %d lines in %q, want one a variable", lines, err)
	}
}

type strict struct {
	URL   BaseURL       `env:"URL,required" help:"where"`
	Token string        `env:"ADMIN_TOKEN,notEmpty" secret:"true" help:"who"`
	Wait  time.Duration `env:"WAIT" envDefault:"1s" min:"1s" help:"how long"`
}

func (s *strict) Validate() error {
	if s.Wait > time.Minute && s.Token != "long" {
		return errors.Join(Wrong("WAIT", s.Wait, "too long"), Wrong("URL", s.URL, "too far"))
	}
	return nil
}

func TestMissingSecretAndJoinedRules(t *testing.T) {
	_, err := Load[strict]("strict", nil)
	for _, want := range []string{`SHEDLOAD_URL="": must be set: where`, `SHEDLOAD_ADMIN_TOKEN="": must not be empty: who`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	c, err := Load[strict]("strict", []string{"SHEDLOAD_URL=http://h:1/", "SHEDLOAD_ADMIN_TOKEN=hush", "SHEDLOAD_WAIT="})
	if err != nil || c.URL != "http://h:1" || c.Wait != time.Second {
		t.Errorf("got %+v, %v; want the URL without slash and an empty value to mean the default", c, err)
	}
	if got := Effective(&c)[1]; got != (Setting{"SHEDLOAD_ADMIN_TOKEN", "(secret)"}) {
		t.Errorf("got %v, want the secret masked", got)
	}
	_, err = Load[strict]("strict", []string{"SHEDLOAD_URL=http://h", "SHEDLOAD_ADMIN_TOKEN=hush", "SHEDLOAD_WAIT=2m"})
	var all *ConfigError
	if !errors.As(err, &all) || len(all.Wrong) != 2 || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v, want both rules and no secret", err)
	}
}

func TestTablesNameEveryVariable(t *testing.T) {
	for _, p := range Programs() {
		var help, markdown strings.Builder
		if err := errors.Join(WriteTable(&help, p.Vars), WriteMarkdown(&markdown, p.Vars)); err != nil {
			t.Fatal(err)
		}
		for _, v := range p.Vars {
			if v.Help == "" {
				t.Errorf("%s: %s has no help", p.Name, v.Name)
			}
			if !strings.Contains(help.String(), v.Name+" ") || !strings.Contains(markdown.String(), "`"+v.Name+"`") {
				t.Errorf("%s: %s is in no table", p.Name, v.Name)
			}
		}
	}
}

func TestClassesKeepTheirTextForm(t *testing.T) {
	const text = "pay:critical_plus,search:sheddable:catalog"
	var c Classes
	if err := c.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.MarshalText(); string(got) != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if err := c.UnmarshalText([]byte(strings.Repeat("a:critical,", 65))); err == nil {
		t.Error("want an error for 65 classes")
	}
}

func TestLanesKeepTheirTextForm(t *testing.T) {
	const text = "fifo=http://a:8080+http://a:9100,lifo=http://b:8080"
	var l Lanes
	if err := l.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, _ := l.MarshalText(); string(got) != text || l[0].Admin != "http://a:9100" || l[1].Admin != "" {
		t.Errorf("got %s, want %s", got, text)
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[Addr]bool{
		"127.0.0.1:80": true, "localhost:0": true, "[::1]:80": true, "127.8.8.8:1": true,
		":80": false, "0.0.0.0:80": false, "10.0.0.1:80": false, "[::]:80": false, "nonsense": false,
	} {
		if got := addr.Loopback(); got != want {
			t.Errorf("%s: got %v, want %v", addr, got, want)
		}
	}
}

// FuzzTexts reads the text forms of lists: what can be read has a text form that
// means the same.
func FuzzTexts(f *testing.F) {
	f.Add("pay:critical_plus,search:sheddable:catalog")
	f.Add("search=uniform:1ms,2ms;pay=3ms")
	f.Add("fifo=http://a:8080+http://a:9100,lifo=http://b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range []interface {
			UnmarshalText([]byte) error
			MarshalText() ([]byte, error)
		}{new(Classes), new(ClassTimes), new(Lanes)} {
			if v.UnmarshalText([]byte(text)) != nil {
				continue
			}
			first, err := v.MarshalText()
			if err != nil {
				t.Fatalf("%T %q: %v", v, text, err)
			}
			if err := v.UnmarshalText(first); err != nil {
				t.Fatalf("%T %q does not read its own text %q: %v", v, text, first, err)
			}
			if second, _ := v.MarshalText(); string(first) != string(second) {
				t.Errorf("%T: %q became %q", v, first, second)
			}
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add("SHEDLOAD_DROP_MARGIN=70ms\nSHEDLOAD_CLASSES=a:critical")
	f.Add("SHEDLOAD_=\n=SHEDLOAD_DOOR\nSHEDLOAD_DOOR=\x00")
	f.Fuzz(func(t *testing.T, environ string) {
		lines := strings.Split(environ, "\n")
		c, err := Load[APIServer]("apiserver", lines)
		if err != nil {
			return
		}
		// What is in force can be given back and means the same.
		var again []string
		for _, s := range Effective(&c) {
			if s.Value != masked {
				again = append(again, s.Name+"="+s.Value)
			}
		}
		d, err := Load[APIServer]("apiserver", again)
		if err != nil {
			t.Fatalf("effective configuration of %q does not load: %v", environ, err)
		}
		d.AdminToken = c.AdminToken
		if !slices.Equal(Effective(&c), Effective(&d)) {
			t.Errorf("got %v, want %v", Effective(&d), Effective(&c))
		}
	})
}
