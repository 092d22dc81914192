package archive

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a file of an archive.
type entry struct {
	// path is where the file is, name what it is called in the archive, with slashes.
	path, name string
	executable bool
	size       int64
}

// entries lists the files of a platform and those of every archive, sorted by name, in one folder called root.
func (r *Release) entries(folder, root string) ([]entry, error) {
	var out []entry
	add := func(path, name string, info fs.FileInfo) {
		program := info.Mode()&0o111 != 0 || strings.HasSuffix(name, ".exe")
		out = append(out, entry{path: path, name: root + "/" + filepath.ToSlash(name), executable: program, size: info.Size()})
	}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		add(path, name, info)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the programs: %w", err)
	}
	for _, path := range r.Files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("list the files of every archive: %w", err)
		}
		add(path, filepath.Base(path), info)
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func (e entry) mode() fs.FileMode {
	if e.executable {
		return 0o755
	}
	return 0o644
}

func (r *Release) tarGzip(w io.Writer, entries []entry) error {
	z, err := gzip.NewWriterLevel(w, cmp.Or(r.Level, gzip.BestCompression))
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	t := tar.NewWriter(z)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode()), Size: e.size, ModTime: r.Time, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", e.name, err)
		}
		if err := appendFile(t, e.path); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return z.Close()
}

func (r *Release) zipped(w io.Writer, entries []entry) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.Time}
		header.SetMode(e.mode())
		f, err := z.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("pack %s: %w", e.name, err)
		}
		if err := appendFile(f, e.path); err != nil {
			return err
		}
	}
	return z.Close()
}

func appendFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read what is packed: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("pack %s: %w", path, err)
	}
	return nil
}

// publish writes a file of the release, whole or not at all, and returns it with its checksum.
func (r *Release) publish(name string, write func(*os.File) error) (artifact, error) {
	path := filepath.Join(r.Out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // what is released is for everybody
		return artifact{}, fmt.Errorf("make the folder of %s: %w", name, err)
	}
	f, err := os.CreateTemp(r.Out, ".release-*")
	if err != nil {
		return artifact{}, fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	err = write(f)
	hash := sha256.New()
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(hash, f)
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return artifact{}, fmt.Errorf("write %s: %w", name, err)
	}
	return artifact{name: name, sum: hex.EncodeToString(hash.Sum(nil))}, nil
}
