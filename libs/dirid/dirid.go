// Package dirid gives a data directory an identity, and remembers which files it must have. A file that is lost is then noticed, instead of
// being created again beside the others.
package dirid

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Name is the name of the file with the identity of its directory.
const Name = "identity"

// heading is its first line, up to the directory's ID.
const heading = "windlass data directory "

// Dir is a data directory. Other processes wait in Open until Close.
type Dir struct {
	// ID is the directory's identity, "" before Add.
	ID string

	path  string
	files []string
	lock  *os.File
}

// Open reads what is known of a directory, which it creates if it is absent.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	lock, err := os.OpenFile(filepath.Join(path, Name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	d := &Dir{path: path, lock: lock}
	if err := errors.Join(take(lock), d.read()); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s: %w", path, err), lock.Close())
	}
	return d, nil
}

func (d *Dir) read() error {
	raw, err := os.ReadFile(filepath.Join(d.path, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, rest, _ := strings.Cut(string(raw), "\n")
	id, ok := strings.CutPrefix(first, heading)
	if !ok {
		return fmt.Errorf("its file %q is damaged: restore it from a backup, or remove it to take the directory's other files as they are", Name)
	}
	d.ID, d.files = id, strings.Fields(rest)
	return nil
}

// Has reports whether the directory has had a file.
func (d *Dir) Has(file string) bool { return slices.Contains(d.files, file) }

// Add remembers that the directory has a file. An id that is not empty becomes its ID, if it had none.
func (d *Dir) Add(file, id string) error {
	if d.Has(file) && (id == "" || id == d.ID) {
		return nil
	}
	if d.ID == "" {
		d.ID = id
	}
	if !d.Has(file) {
		d.files = append(d.files, file)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\n", heading, d.ID)
	for _, name := range d.files {
		fmt.Fprintln(&b, name)
	}
	if err := Write(filepath.Join(d.path, Name), b.Bytes()); err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	return nil
}

// Close lets other processes open the directory.
func (d *Dir) Close() error {
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	return nil
}

// Write writes a file that only the user of this process can read, whole or not at all, and has it on disk before it returns.
func Write(file string, b []byte) error {
	f, err := os.OpenFile(file+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	return Sync(filepath.Dir(file))
}
