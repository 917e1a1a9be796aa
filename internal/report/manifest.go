package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"shedload/internal/boot"
	"shedload/internal/scenario"
)

// Manifest is manifest.json: all that is needed to run the same again, and to
// judge where the numbers come from.
type Manifest struct {
	Tool     string     `json:"tool"`
	Build    boot.Build `json:"version"`
	Scenario string     `json:"scenario"`
	Engine   string     `json:"engine"`
	Seed     uint64     `json:"seed"`
	Seeds    int        `json:"seeds"` // runs of each variant, with consecutive seeds
	Command  []string   `json:"command"`
	Target   string     `json:"target,omitempty"` // a running system that was used instead of our own
	Started  time.Time  `json:"started"`
	Ended    *time.Time `json:"ended"` // null while it is being written, or after a crash
	// Partial stays true until everything that was asked for has been measured.
	Partial bool `json:"partial"`
	Host    Host `json:"host"`
	// Resolved holds the plans as they ran: overrides merged, defaults filled in.
	Resolved []json.RawMessage `json:"resolved"`
	// Hashes are SHA-256 sums: of the scenario's file, and of each file of the record.
	Hashes map[string]string `json:"hashes"`
}

// Host is the machine that a run was made on.
type Host struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	CPUModel   string `json:"cpu_model,omitempty"`
	Kernel     string `json:"kernel,omitempty"`
	FileLimit  int    `json:"file_limit"` // 0 unknown or none
	GOMAXPROCS int    `json:"gomaxprocs"`
}

// HostFacts describes this machine. It has no name: records are shown to others.
func HostFacts() Host {
	return Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPUModel: cpuModel(), Kernel: kernel(),
		FileLimit: boot.FileLimit(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
}

// cpuModel and kernel are known where Linux tells; elsewhere they are left out.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Resolved writes a plan with everything in it, in the words of scenario files.
func Resolved(p scenario.Plan) (json.RawMessage, error) {
	text, err := yaml.Marshal(p)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("write the plan of %s/%s: %w", p.Scenario, p.Variant, err)
	}
	return json.RawMessage(strings.TrimSpace(string(text))), nil
}

// Hash returns the SHA-256 sum of a text in hexadecimal.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
