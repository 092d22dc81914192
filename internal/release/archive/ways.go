package archive

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"text/template"
)

// releases is where the archives of all versions are, one folder for each version.
const releases = "https://github.com/windlass-dev/windlass/releases/download"

// ways are other ways to install a release: a Homebrew formula, and an npm package that downloads the archive. Both hold the checksums.
//
//go:embed ways
var ways embed.FS

// system is an operating system of the formula, under its name in Homebrew.
type system struct {
	Homebrew string
	Archives []processor
}

type processor struct{ Homebrew, Name, Sum string }

// systems sorts the archives that Homebrew can install.
func systems(made []artifact) []system {
	out := []system{{Homebrew: "macos"}, {Homebrew: "linux"}}
	for _, a := range made {
		if !strings.HasPrefix(a.name, "windlass_") || !strings.HasSuffix(a.name, ".tar.gz") {
			continue
		}
		p := processor{Homebrew: "intel", Name: a.name, Sum: a.sum}
		if strings.Contains(a.name, "_arm64.") {
			p.Homebrew = "arm"
		}
		i := 0
		if strings.Contains(a.name, "_linux_") {
			i = 1
		}
		out[i].Archives = append(out[i].Archives, p)
	}
	return slices.DeleteFunc(out, func(s system) bool { return len(s.Archives) == 0 })
}

// otherWays writes the formula and the npm package for the archives that were made.
func (r *Release) otherWays(made []artifact) ([]artifact, error) {
	sums := map[string]string{}
	for _, a := range made {
		if strings.HasPrefix(a.name, "windlass_") && (strings.HasSuffix(a.name, ".tar.gz") || strings.HasSuffix(a.name, ".zip")) {
			sums[a.name] = a.sum
		}
	}
	text, err := json.MarshalIndent(sums, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("list the checksums: %w", err)
	}
	t, err := template.ParseFS(ways, "ways/*")
	if err != nil {
		return nil, fmt.Errorf("read the ways to install: %w", err)
	}
	data := struct {
		Version, Number, Releases, SumsJSON string
		Systems                             []system
	}{r.Version, strings.TrimPrefix(r.Version, "v"), releases, string(text), systems(made)}
	var out []artifact
	for _, name := range []string{"homebrew/windlass.rb", "npm/package.json", "npm/windlass.js"} {
		a, err := r.publish(name, func(f *os.File) error { return t.ExecuteTemplate(f, path.Base(name), data) })
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}
