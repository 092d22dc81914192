// Package folder is the kind "folder" of sources of banks: the files in a folder of the machine of the knowledge service.
package folder

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
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// maxEntries counts files and folders, maxDepth folders above a file, and maxPath bytes of a path.
	maxEntries = 50_000
	maxDepth   = 32
	maxPath    = 512
	// settled is how old the last change of a file must be until its time says whether it changes again: clocks of file systems are coarse.
	settled = 2 * time.Second
)

// Kind implements source.Kind.
type Kind struct {
	// Allowed are the folders that sources may be in or below.
	Allowed []string
	// MaxBytes is the maximum size of a file.
	MaxBytes int64
}

// Check implements source.Kind.
func (k Kind) Check(spec store.SourceSpec) error {
	if err := source.Only(spec, "folder"); err != nil {
		return err
	}
	if !filepath.IsAbs(spec.Folder) || strings.ContainsRune(spec.Folder, 0) {
		return fault.Invalid("source.folder", "is not an absolute path")
	}
	if _, _, err := k.locate(spec.Folder); err != nil {
		return fault.Invalid("source.folder", "%s", err)
	}
	return nil
}

// locate returns the allowed folder that a folder is in or below, and its path from there.
func (k Kind) locate(dir string) (allowed, within string, err error) {
	dir = filepath.Clean(dir)
	for _, allowed := range k.Allowed {
		within, err := filepath.Rel(filepath.Clean(allowed), dir)
		if err == nil && filepath.IsLocal(within) {
			return allowed, within, nil
		}
	}
	if len(k.Allowed) == 0 {
		return "", "", errors.New("no source may name a folder (knowledge.folders is empty)")
	}
	return "", "", errors.New("is not in or below a folder that sources may name (knowledge.folders)")
}

// Read implements source.Kind.
func (k Kind) Read(ctx context.Context, spec store.SourceSpec, v source.Visitor) error {
	allowed, within, err := k.locate(spec.Folder)
	if err != nil {
		return source.Unreadable("the folder %s", err)
	}
	top, err := os.OpenRoot(allowed)
	if err != nil {
		return unreadable(err)
	}
	defer func() { _ = top.Close() }() // read only: nothing is lost
	root, err := top.OpenRoot(within)
	if err != nil {
		return unreadable(err)
	}
	defer func() { _ = root.Close() }() // read only: nothing is lost
	w := &walk{root: root, visitor: v, maxBytes: k.MaxBytes}
	if err := w.list(ctx, ".", 0); err != nil {
		return err
	}
	v.Total(len(w.files))
	for _, name := range w.files {
		if err := w.file(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// unreadable is the error of a folder that may be there later. It does not say where the folder is.
func unreadable(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return source.Unreadable("the folder cannot be read: %s", err)
}

// walk reads a folder.
type walk struct {
	root     *os.Root
	visitor  source.Visitor
	maxBytes int64
	entries  int
	files    []string
}

// list collects the files below a folder, and reports what is none. Names that begin with a dot are left out.
func (w *walk) list(ctx context.Context, dir string, depth int) error {
	entries, err := w.entriesOf(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list a folder: %w", err)
		}
		if w.entries++; w.entries > maxEntries {
			return source.Unreadable("it has more than %d files and folders", maxEntries)
		}
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		switch why := wrongName(name, depth); {
		case why != "":
			err = w.visitor.Failed(ctx, strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "\ufffd"), why)
		case e.IsDir():
			err = w.list(ctx, name, depth+1)
		case e.Type()&fs.ModeSymlink != 0:
			err = w.visitor.Failed(ctx, name, "it is a symbolic link")
		case !e.Type().IsRegular():
			err = w.visitor.Failed(ctx, name, "it is no regular file")
		default:
			w.files = append(w.files, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entriesOf returns what is in a folder, by name.
func (w *walk) entriesOf(dir string) ([]fs.DirEntry, error) {
	f, err := w.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	entries, err := f.ReadDir(maxEntries - w.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// wrongName says why a path cannot be the name of a document; "" if it can.
func wrongName(name string, depth int) string {
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case len(name) > maxPath:
		return fmt.Sprintf("its path is longer than %d bytes", maxPath)
	case depth > maxDepth:
		return fmt.Sprintf("it is more than %d folders deep", maxDepth)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "its name has a control character"
	}
	return ""
}

// file reports a file. One that has become something else is not waited for.
func (w *walk) file(ctx context.Context, name string) error {
	f, err := w.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has vanished meanwhile
	}
	if err != nil {
		return w.visitor.Failed(ctx, name, "it cannot be opened")
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	before, err := f.Stat()
	switch {
	case err != nil || !before.Mode().IsRegular():
		return w.visitor.Failed(ctx, name, "it is no regular file")
	case before.Size() > w.maxBytes:
		return w.visitor.Failed(ctx, name, fmt.Sprintf("it has more than %d bytes", w.maxBytes))
	}
	validator := validatorOf(before)
	if validator != "" && validator == w.visitor.Validator(name) {
		return w.visitor.Same(ctx, name)
	}
	data, err := io.ReadAll(io.LimitReader(f, w.maxBytes+1))
	if err != nil {
		return w.visitor.Failed(ctx, name, "it cannot be read to its end")
	}
	after, err := f.Stat()
	if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) || int64(len(data)) != after.Size() {
		return w.visitor.Failed(ctx, name, "it was changed while it was read; the next sync reads it again")
	}
	return w.visitor.Found(ctx, source.Item{Key: name, Name: name, Validator: validator, Data: data})
}

// validatorOf returns the size and the time of a file, or "" when it was changed so recently that the time says nothing.
func validatorOf(info fs.FileInfo) string {
	if age := time.Since(info.ModTime()); age < settled {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}
