package app

import (
	"runtime"
	"runtime/debug"
)

// Build describes a binary.
type Build struct {
	// Version is the tag or commit set by the linker, else the module's version, else "dev".
	Version string `json:"version"`
	// Commit is the source revision; empty if the build did not record it.
	Commit string `json:"commit,omitempty"`
	// Date is when that commit was made, in RFC 3339; empty if the build did not record it.
	Date string `json:"date,omitempty"`
	// Modified means that the source differed from that commit.
	Modified bool `json:"modified,omitempty"`
	// Go is the compiler's version.
	Go string `json:"go"`
	// Platform is operating system and architecture.
	Platform string `json:"platform"`
}

// Set by the linker in releases, see scripts/dist.sh.
var commit, date string

// Build describes this binary. The version that the linker stamped wins over the build information.
func (a *App) Build() Build {
	i := Build{Version: a.Version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		if i.Version == "" && b.Main.Version != "(devel)" {
			i.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				i.Commit = s.Value
			case "vcs.time":
				i.Date = s.Value
			case "vcs.modified":
				i.Modified = s.Value == "true"
			}
		}
	}
	if i.Version == "" {
		i.Version = "dev"
	}
	return i
}
