package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/dirid"
)

// stagePrefix begins the name of the folder in which an existing directory is restored.
const stagePrefix = ".windlass-restore-"

// target is the directory to which a backup is restored.
type target struct {
	// dir is absolute, and no link.
	dir string
	// exists: it is there and empty. It may be a mount point, or in a folder that this user cannot write, so it is not replaced.
	exists bool
}

// openTarget refuses a directory that has anything in it.
func openTarget(dir string) (target, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return target{}, err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return target{dir: dir}, nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return target{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return target{}, err
	}
	for _, e := range entries {
		switch {
		case e.Name() == lostFound:
		case strings.HasPrefix(e.Name(), stagePrefix):
			return target{}, fmt.Errorf("%s was left by a restore that did not end: remove it", filepath.Join(dir, e.Name()))
		default:
			return target{}, fmt.Errorf("%s is not empty: restore to a new directory, and keep this one until the restored mesh works", dir)
		}
	}
	return target{dir: dir, exists: true}, nil
}

// stage makes a folder on the same file system.
func (t target) stage() (string, error) {
	if t.exists {
		return os.MkdirTemp(t.dir, stagePrefix)
	}
	if err := os.MkdirAll(filepath.Dir(t.dir), 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(t.dir), "."+filepath.Base(t.dir)+"-restore-")
}

// take makes the staged files those of the directory. What it moved to an existing one is removed if it fails.
func (t target) take(stage string) (err error) {
	if !t.exists {
		if err := os.Rename(stage, t.dir); err != nil {
			return err
		}
		return dirid.Sync(filepath.Dir(t.dir))
	}
	if err := ownAs(t.dir, stage); err != nil {
		return err
	}
	entries, err := os.ReadDir(stage)
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(turnOf(a.Name()), turnOf(b.Name())) })
	var moved []string
	defer func() {
		for _, path := range moved {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(path))
			}
		}
	}()
	for i, e := range entries {
		if i > 0 && turnOf(entries[i-1].Name()) != turnOf(e.Name()) {
			if err := dirid.Sync(t.dir); err != nil {
				return err
			}
		}
		to := filepath.Join(t.dir, e.Name())
		if err := os.Rename(filepath.Join(stage, e.Name()), to); err != nil {
			return err
		}
		moved = append(moved, to)
	}
	return dirid.Sync(t.dir)
}

// turnOf orders the moves: the directory's identity first, which names its databases, and the databases last. A start refuses a directory
// without a database that its identity names, and would fill one that has no identity.
func turnOf(name string) int {
	switch {
	case name == dirid.Name:
		return 0
	case strings.HasSuffix(name, ".db"):
		return 2
	}
	return 1
}

// syncFolders has the names of all files below a directory on disk.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return dirid.Sync(path)
	})
}
