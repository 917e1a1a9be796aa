package boot

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build says which code a binary was built from.
type Build struct {
	Version  string `json:"version"`  // the module's version; "(devel)" outside a release
	Revision string `json:"revision"` // the commit, with "+dirty" when files had changed; "" unknown
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// BuildInfo reads what the compiler recorded.
func BuildInfo() Build {
	b := Build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if b.Revision != "" {
		b.Revision += dirty
	}
	return b
}

// String is one line for the version word.
func (b Build) String() string {
	if b.Revision == "" {
		return fmt.Sprintf("%s (%s, %s)", b.Version, b.Go, b.Platform)
	}
	return fmt.Sprintf("%s %.12s (%s, %s)", b.Version, b.Revision, b.Go, b.Platform)
}
