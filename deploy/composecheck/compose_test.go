package composecheck

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads the project as `docker compose` does in the repository's root.
func load(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	t.Chdir("../..")
	o, err := cli.NewProjectOptions(nil,
		cli.WithOsEnv, cli.WithEnvFiles(".env"), cli.WithDotEnv, cli.WithConfigFileEnv, cli.WithProfiles(profiles))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProject(t *testing.T) {
	p := load(t)
	if got, want := p.ServiceNames(), []string{"apiserver", "backend", "grafana", "loadgen", "prometheus"}; !slices.Equal(got, want) {
		t.Errorf("got services %v, want %v", got, want)
	}
	if p.Name != "shedload" {
		t.Errorf("got name %q", p.Name)
	}
	var memory types.UnitBytes
	for _, s := range p.Services {
		memory += s.MemLimit
	}
	if memory == 0 || memory >= 1<<30 {
		t.Errorf("all containers may have %d bytes, want less than 1 GiB", memory)
	}
}

// TestLanes wants four pairs that differ in their queue alone, and one generator for all.
func TestLanes(t *testing.T) {
	p := load(t, "compare")
	var first types.MappingWithEquals
	for _, lane := range []string{"fifo", "lifo", "deadline-0", "deadline-70"} {
		api, backend := p.Services["apiserver-"+lane], p.Services["backend-"+lane]
		if got := backend.Environment["SHEDLOAD_API_URL"]; got == nil || *got != "http://apiserver-"+lane+":8081" {
			t.Errorf("the backend of %s works for another lane", lane)
		}
		lanes := p.Services["loadgen-compare"].Environment["SHEDLOAD_LANES"]
		if part := lane + "=http://apiserver-" + lane + ":8080+http://apiserver-" + lane + ":9100"; lanes == nil || !slices.Contains(strings.Split(*lanes, ","), part) {
			t.Errorf("loadgen does not drive lane %s", lane)
		}
		if first == nil {
			first = api.Environment
		}
		for name, value := range api.Environment {
			queue := name == "SHEDLOAD_QUEUE_DISCIPLINE" || name == "SHEDLOAD_DROP_MARGIN"
			if other := first[name]; !queue && value != other && *value != *other {
				t.Errorf("%s: %s=%s, the others have %s", lane, name, *value, *other)
			}
		}
	}
}

// TestServices holds every service of every profile to the house rules.
func TestServices(t *testing.T) {
	p := load(t, "*")
	for _, s := range p.Services {
		for rule, kept := range map[string]bool{
			"is read-only":                 s.ReadOnly,
			"drops all capabilities":       slices.Equal(s.CapDrop, []string{"ALL"}) && len(s.CapAdd) == 0 && !s.Privileged,
			"gains no privileges":          slices.Contains(s.SecurityOpt, "no-new-privileges:true"),
			"has a memory limit":           s.MemLimit > 0,
			"bounds its processes":         s.PidsLimit > 0,
			"bounds its log":               s.Logging != nil && s.Logging.Options["max-size"] != "",
			"has a health check, no shell": s.HealthCheck != nil && len(s.HealthCheck.Test) > 1 && s.HealthCheck.Test[0] == "CMD",
			"has no name of its own":       s.ContainerName == "",
			"is built or pinned":           s.Build != nil || pinned(s.Image),
			"publishes on loopback alone":  onLoopback(s),
			"needs no ulimits":             len(s.Ulimits) == 0,
		} {
			if !kept {
				t.Errorf("%s: not so: %s", s.Name, rule)
			}
		}
		for name, d := range s.DependsOn {
			if d.Condition != types.ServiceConditionHealthy {
				t.Errorf("%s starts after %s on %s, want %s", s.Name, name, d.Condition, types.ServiceConditionHealthy)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if !v.ReadOnly {
				t.Errorf("%s can write to %s", s.Name, v.Source)
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts what is not there: %v", s.Name, err)
			}
		}
	}
}

// pinned reports whether an image has a tag that says which, and names no registry.
func pinned(image string) bool {
	name, tag, ok := strings.Cut(image, ":")
	first, _, _ := strings.Cut(name, "/")
	return ok && regexp.MustCompile(`\d+\.\d+`).MatchString(tag) && !strings.ContainsAny(first, ".:")
}

func onLoopback(s types.ServiceConfig) bool {
	for _, p := range s.Ports {
		if p.HostIP != "127.0.0.1" || slices.Contains([]uint32{8081, 9100, 9101, 9102}, p.Target) {
			return false
		}
	}
	return true
}

// TestShellComesBeforeFile is how people turn knobs.
func TestShellComesBeforeFile(t *testing.T) {
	t.Setenv("SHEDLOAD_QUEUE_DISCIPLINE", "lifo")
	t.Setenv("GRAFANA_PORT", "3333")
	p := load(t)
	if got := p.Services["apiserver"].Environment["SHEDLOAD_QUEUE_DISCIPLINE"]; got == nil || *got != "lifo" {
		t.Errorf("got %v, want lifo from the shell", got)
	}
	if got := p.Services["grafana"].Ports[0].Published; got != "3333" {
		t.Errorf("got port %q", got)
	}
}

// TestDockerfile keeps to what every builder knows, and to a program that is nobody.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ARG GO_IMAGE=", "FROM scratch", "USER 65532:65532", "CGO_ENABLED=0"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("has no %q", want)
		}
	}
	for _, banned := range []string{"# syntax", "--mount", "<<", "--link"} {
		if strings.Contains(string(text), banned) {
			t.Errorf("has %q, which needs BuildKit", banned)
		}
	}
}
