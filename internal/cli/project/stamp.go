package project

import (
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"
)

// maxFiles bounds the files that are looked at.
const maxFiles = 10_000

// Stamp tells one state of files from another: the time and size of each.
type Stamp map[string]stamp

type stamp struct {
	modified time.Time
	size     int64
}

// passed are folders that programs write to by themselves.
var passed = map[string]bool{"node_modules": true, "__pycache__": true}

// Look returns the state of files and of all that is in folders. What cannot be read is not there. Hidden folders are passed over.
func Look(names []string) Stamp {
	out := Stamp{}
	for _, name := range names {
		_ = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // what cannot be read is not there
			case d.IsDir() && path != name && (strings.HasPrefix(d.Name(), ".") || passed[d.Name()]):
				return fs.SkipDir
			case d.IsDir():
				return nil
			case len(out) == maxFiles:
				return fs.SkipAll
			}
			if info, err := d.Info(); err == nil {
				out[path] = stamp{info.ModTime(), info.Size()}
			}
			return nil
		})
	}
	return out
}

// Changed reports whether any file changed since, and whether one did that is no YAML: the program of a tool server.
func (s Stamp) Changed(since Stamp) (changed, program bool) {
	for _, pair := range [][2]Stamp{{s, since}, {since, s}} {
		for path := range maps.Keys(pair[0]) {
			if pair[0][path] == pair[1][path] {
				continue
			}
			changed = true
			if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
				program = true
			}
		}
	}
	return changed, program
}
