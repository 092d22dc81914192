// Package version tells what was built.
package version

import (
	"runtime"
	"runtime/debug"
)

// Info describes a binary.
type Info struct {
	// Version is the tag or commit that the build was given, else the module's version, else "dev".
	Version string `json:"version"`
	// Commit is the source revision; empty when the build did not record it.
	Commit string `json:"commit,omitempty"`
	// Modified says that the source was not exactly that commit.
	Modified bool `json:"modified,omitempty"`
	// Go is the compiler's version.
	Go string `json:"go"`
	// Platform is operating system and architecture.
	Platform string `json:"platform"`
}

// Of describes this binary. The stamped version wins over what the binary knows by itself.
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
