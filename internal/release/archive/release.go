// Package archive makes the archives of a release. The same input gives the same bytes: entries are sorted, have one time, no owner, and
// modes that say only what can be executed.
package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Release is what one run packs.
type Release struct {
	// Version names the archives, like v0.1.0. Commit is what the programs were built from.
	Version, Commit string
	// Programs is a folder with those of each archive below it, named like windlass/linux_amd64. Out is where the archives go.
	Programs, Out string
	// Files go into each archive beside the programs.
	Files []string
	// Time is that of every file in the archives.
	Time time.Time
	// Level is how hard archives for other systems than Windows are compressed, as in compress/gzip. 0 means best.
	Level int
}

func (r *Release) check() error {
	if !strings.HasPrefix(r.Version, "v") || strings.ContainsAny(r.Version, "/\\ ") {
		return fmt.Errorf("the version %q is not one like v0.1.0", r.Version)
	}
	if r.Commit == "" {
		return errors.New("the commit is missing: say what the programs were built from")
	}
	return nil
}

// Write packs each platform, and writes the checksums and the statement of provenance of the archives.
func (r *Release) Write() error {
	if err := r.check(); err != nil {
		return err
	}
	folders, err := filepath.Glob(filepath.Join(r.Programs, "*", "*"))
	if err != nil {
		return fmt.Errorf("find the platforms: %w", err)
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil { //nolint:gosec // archives are for everybody
		return fmt.Errorf("make %s: %w", r.Out, err)
	}
	var made []artifact
	for _, folder := range folders {
		a, err := r.pack(folder)
		if err != nil {
			return fmt.Errorf("pack %s: %w", folder, err)
		}
		made = append(made, a...)
	}
	if len(made) == 0 {
		return fmt.Errorf("%s has no platform", r.Programs)
	}
	return r.describe(made)
}

// artifact is a file that was written, and its SHA-256 in hexadecimal.
type artifact struct{ name, sum string }

// pack writes the archive of a folder, and publishes its bill of materials beside it.
func (r *Release) pack(folder string) ([]artifact, error) {
	platform := filepath.Base(folder)
	name := filepath.Base(filepath.Dir(folder)) + "_" + r.Version + "_" + platform
	entries, err := r.entries(folder, name)
	if err != nil {
		return nil, err
	}
	archive, write := name+".tar.gz", r.tarGzip
	if strings.HasPrefix(platform, "windows_") {
		archive, write = name+".zip", r.zipped
	}
	a, err := r.publish(archive, func(f *os.File) error { return write(f, entries) })
	if err != nil {
		return nil, err
	}
	made := []artifact{a}
	for _, e := range entries {
		if !strings.HasSuffix(e.path, ".cdx.json") {
			continue
		}
		bill := archive + "." + strings.TrimPrefix(filepath.Base(e.name), "sbom-")
		b, err := r.publish(bill, func(f *os.File) error { return appendFile(f, e.path) })
		if err != nil {
			return nil, err
		}
		made = append(made, b)
	}
	return made, nil
}
