// Package datadir owns the directory in which an embedded Windlass stores its state.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/secret"
)

// ErrInUse means that another process uses the directory.
var ErrInUse = errors.New("another windlass is running on this data directory")

// Dir is a directory that is locked by this process until Close.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the directory if needed and locks it for this process. Its error says what to do.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, explain(abs, err)
	}
	f, err := os.OpenFile(filepath.Join(abs, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, explain(abs, err)
	}
	if err := take(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s; stop it first, or choose another directory with --data-dir", ErrInUse, abs), f.Close())
	}
	return &Dir{path: abs, lock: f}, nil
}

// Path returns a path inside the directory.
func (d *Dir) Path(elem ...string) string { return filepath.Join(append([]string{d.path}, elem...)...) }

// ErrKeyMissing means that a key with which data was sealed or signed is gone.
var ErrKeyMissing = errors.New("key is missing, though this data directory has had it, and nothing of what was sealed or signed with it " +
	"could be read any more: restore it from a backup; to replace it, name it in the setting for previous keys")

// Key reads a key from a file of the directory. It generates the key on the first start, and where previous keys are given, which the new
// one replaces.
func (d *Dir) Key(name string, previous ...secret.Value) (_ secret.Value, err error) {
	known, err := dirid.Open(d.path)
	if err != nil {
		return secret.Value{}, explain(d.path, err)
	}
	defer func() { err = errors.Join(err, known.Close()) }()
	file := d.Path(name)
	b, err := os.ReadFile(file)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0
	if missing && known.Has(name) && len(previous) == 0 {
		return secret.Value{}, fmt.Errorf("data directory %s: %s: %w", d.path, name, ErrKeyMissing)
	}
	if missing {
		b = fmt.Appendf(nil, "%x", authn.NewKey())
		err = Write(file, b)
	}
	if err == nil {
		err = known.Add(name, "")
	}
	if err != nil {
		return secret.Value{}, explain(d.path, err)
	}
	return secret.New(string(b)), nil
}

// Write writes a file that only the user of this process can read, whole or not at all: data sealed with half a key could never be opened
// again.
func Write(file string, b []byte) error { return dirid.Write(file, b) }

// Close unlocks the directory.
func (d *Dir) Close() error {
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("close the lock of %s: %w", d.path, err)
	}
	return nil
}

func explain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), isReadOnly(err):
		return fmt.Errorf("data directory %s cannot be written: choose another one with --data-dir, or fix its permissions: %w", path, err)
	case isFull(err):
		return fmt.Errorf("the disk of data directory %s is full: free some space, or choose another one with --data-dir: %w", path, err)
	default:
		return fmt.Errorf("data directory %s: %w", path, err)
	}
}
