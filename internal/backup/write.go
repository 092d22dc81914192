package backup

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Options say what to back up.
type Options struct {
	// DataDir is the data directory, which may be in use.
	DataDir string
	// File is the new archive, outside the data directory. Its folder has to have space for a copy of the databases meanwhile.
	File string
	// WithKeys includes the keys, with which all secrets in the backup can be read.
	WithKeys bool
	// Windlass is the version of the program.
	Windlass string
}

// Write writes a backup: each database as it is at one moment, the ledger of tool calls last. The file appears when it is complete.
func Write(ctx context.Context, o Options) (_ Manifest, err error) {
	dir, file, err := o.paths()
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Format: Format, Windlass: o.Windlass, CreateTime: time.Now().UTC().Truncate(time.Second), DataDir: dir}
	files, err := list(dir)
	if err != nil {
		return m, err
	}
	stage, err := os.MkdirTemp(filepath.Dir(file), ".windlass-backup-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	for _, f := range files {
		if f.Kind == Key && !o.WithKeys {
			err = m.leaveOut(dir, f)
		} else {
			err = m.stage(ctx, dir, stage, f)
		}
		if err != nil {
			return m, fmt.Errorf("back up %s: %w", f.Name, err)
		}
	}
	archive := filepath.Join(stage, "archive")
	if err := m.pack(ctx, stage, archive); err != nil {
		return m, fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(archive, file); err != nil {
		return m, err
	}
	return m, dirid.Sync(filepath.Dir(file))
}

// paths returns absolute paths of directory and file.
func (o Options) paths() (dir, file string, err error) {
	if dir, err = filepath.Abs(o.DataDir); err != nil {
		return "", "", err
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	if file, err = filepath.Abs(o.File); err != nil {
		return "", "", err
	}
	if inside, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(inside) {
		return "", "", fmt.Errorf("%s is inside the data directory: write the backup to another disk", o.File)
	}
	if _, err := os.Stat(file); err == nil {
		return "", "", fmt.Errorf("%s exists already: choose another name", o.File)
	}
	return dir, file, nil
}

func (m *Manifest) leaveOut(dir string, f File) error {
	raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
	if err == nil {
		f.Fingerprint = fingerprint(raw)
		m.LeftOut = append(m.LeftOut, f)
	}
	return err
}

// stage copies a file as it is at one moment, and adds it to the manifest. A file of another program may be gone since it was listed.
func (m *Manifest) stage(ctx context.Context, dir, stage string, f File) error {
	from, to := filepath.Join(dir, filepath.FromSlash(f.Name)), staged(stage, len(m.Files))
	if f.Kind == Database {
		if err := sqldb.Snapshot(ctx, from, to); err != nil {
			return err
		}
	} else {
		raw, err := os.ReadFile(from) // small, and replaced as a whole when it changes
		if f.Kind == Other && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = dirid.Write(to, raw)
		}
		if err != nil {
			return err
		}
	}
	in, err := os.Open(to)
	if err != nil {
		return err
	}
	sum := sha256.New()
	f.Size, err = io.Copy(sum, in)
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	m.Files = append(m.Files, f)
	return errors.Join(err, in.Close())
}

// staged is where the copy of a file is, by its index in the manifest.
func staged(stage string, i int) string { return filepath.Join(stage, fmt.Sprintf("copy-%d", i)) }

// pack writes the archive from the staged copies.
func (m *Manifest) pack(ctx context.Context, stage, file string) (err error) {
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if len(manifest) > maxManifest {
		return fmt.Errorf("the list of %d files has %d bytes, and %d at most can be restored: move files of other programs out of the data "+
			"directory", len(m.Files), len(manifest), maxManifest)
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zip := gzip.NewWriter(out)
	archive := tar.NewWriter(zip)
	if err := m.header(archive, manifestName, int64(len(manifest))); err != nil {
		return err
	}
	if _, err := archive.Write(manifest); err != nil {
		return err
	}
	for i, f := range m.Files {
		if err := cmp.Or(ctx.Err(), m.add(archive, staged(stage, i), f)); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zip.Close(), out.Sync())
}

func (m *Manifest) header(archive *tar.Writer, name string, size int64) error {
	return archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: m.CreateTime, Typeflag: tar.TypeReg})
}

func (m *Manifest) add(archive *tar.Writer, from string, f File) (err error) {
	if err := m.header(archive, f.Name, f.Size); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return errors.Join(err, in.Close())
}
