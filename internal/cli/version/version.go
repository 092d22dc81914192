// Package version describes the build.
package version

import (
	"runtime"
	"runtime/debug"
)

// Info describes a binary.
type Info struct {
	// Version is the tag or commit set by the linker, else the module's version, else "dev".
	Version string `json:"version"`
	// Commit is the source revision; empty if the build did not record it.
	Commit string `json:"commit,omitempty"`
	// Modified means that the source differed from that commit.
	Modified bool `json:"modified,omitempty"`
	// Go is the compiler's version.
	Go string `json:"go"`
	// Platform is operating system and architecture.
	Platform string `json:"platform"`
}

// Of describes this binary. The stamped version wins over the build information.
func Of(stamped string) Info {
	i := Info{Version: stamped, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		if i.Version == "" && b.Main.Version != "(devel)" {
			i.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				i.Commit = s.Value
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
