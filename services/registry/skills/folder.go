package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// folder reads a folder of this machine, if sources may name it.
func (d driver) folder(ctx context.Context, t *tree, dir string) error {
	dir = filepath.Clean(dir)
	for _, allowed := range d.dirs {
		within, err := filepath.Rel(filepath.Clean(allowed), dir)
		if err != nil || !filepath.IsLocal(within) {
			continue
		}
		return walkBelow(ctx, t, allowed, within)
	}
	if len(d.dirs) == 0 {
		return wrong("no source may name a folder (registry.skills.dirs is empty): upload an archive instead")
	}
	return wrong("the folder %q is not below one that sources may name (registry.skills.dirs)", dir)
}

// walkBelow reads a folder below an allowed one, which links must not leave.
func walkBelow(ctx context.Context, t *tree, allowed, within string) error {
	top, err := os.OpenRoot(allowed)
	if err != nil {
		return unreadable(err)
	}
	defer top.Close()
	root, err := top.OpenRoot(within)
	if err != nil {
		return unreadable(err)
	}
	defer root.Close()
	return walk(ctx, t, root, ".")
}

// unreadable is the error of a folder that may be there later.
func unreadable(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("the folder cannot be read: %w", err)
}

// walk reads what is in a folder, without following links.
func walk(ctx context.Context, t *tree, root *os.Root, dir string) error {
	entries, err := list(t, root, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.enter(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		if hidden(e.Name()) {
			continue
		}
		switch why := wrongPath(name); {
		case why != "":
			t.odd[strings.ToValidUTF8(name, "\ufffd")] = why
		case e.IsDir():
			err = walk(ctx, t, root, name)
		case e.Type()&fs.ModeSymlink != 0:
			t.odd[name] = "it is a symbolic link"
		case !e.Type().IsRegular():
			t.odd[name] = "it is no regular file"
		default:
			err = open(t, root, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns what is in a folder, by name, but not many more entries than the tree may have.
func list(t *tree, root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries - t.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// open reads a file. One that has become something else is not waited for.
func open(t *tree, root *os.Root, name string) error {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.odd[name] = "it cannot be read"
		return nil // the skill around it is left out
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		t.odd[name] = "it is no regular file"
		return nil // the skill around it is left out
	}
	return t.add(name, info.Mode()&0o111 != 0, f)
}
