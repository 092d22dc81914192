package backup

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrDamaged means that a file is no complete backup, or was changed since it was written.
var ErrDamaged = errors.New("the backup is damaged")

// maxManifest bounds the size of a manifest in bytes.
const maxManifest = 4 << 20

// Restore restores a backup to a data directory that does not exist or is empty. It checks all checksums, and calls prepare with a
// directory of the same files before dir has any: if that fails, dir stays as it was. If the process dies, a directory that did not exist
// still does not, and one that was empty has a hidden folder, or lacks databases that its file of identity names: no start takes it.
func Restore(
	ctx context.Context, file, dir string, prepare func(ctx context.Context, dir string, m Manifest) error,
) (_ Manifest, err error) {
	to, err := openTarget(dir)
	if err != nil {
		return Manifest{}, err
	}
	stage, err := to.stage()
	if err != nil {
		return Manifest{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	m, err := unpack(ctx, file, stage)
	if err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	if err := prepare(ctx, stage, m); err != nil {
		return m, err
	}
	if err := syncFolders(stage); err != nil {
		return m, err
	}
	return m, to.take(stage)
}

// unpack writes the files of an archive to a directory.
func unpack(ctx context.Context, file, dir string) (m Manifest, err error) {
	in, err := os.Open(file)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	zip, err := gzip.NewReader(in)
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	archive := tar.NewReader(zip)
	if m, err = readManifest(archive); err != nil {
		return m, err
	}
	for _, f := range m.LeftOut { // their folders are made, for the user who puts the keys in
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, filepath.FromSlash(f.Name))), 0o700); err != nil {
			return m, err
		}
	}
	for _, f := range m.Files {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		head, err := archive.Next()
		if err != nil {
			return m, fmt.Errorf("%w: before %s: %w", ErrDamaged, f.Name, err)
		}
		if head.Name != f.Name || head.Size != f.Size || head.Typeflag != tar.TypeReg {
			return m, fmt.Errorf("%w: it has %q where its manifest says %q", ErrDamaged, head.Name, f.Name)
		}
		if err := extract(archive, filepath.Join(dir, filepath.FromSlash(f.Name)), f); err != nil {
			return m, err
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%w: it has more than its manifest says", ErrDamaged)
	}
	return m, nil
}

func readManifest(archive *tar.Reader) (m Manifest, err error) {
	head, err := archive.Next()
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if head.Name != manifestName || head.Size > maxManifest {
		return m, fmt.Errorf("%w: it does not begin with its manifest", ErrDamaged)
	}
	raw, err := io.ReadAll(archive)
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("%w: its manifest: %w", ErrDamaged, err)
	}
	return m, m.check()
}

// extract writes one file, and compares its checksum.
func extract(archive io.Reader, to string, f File) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, sum), archive); err != nil {
		_, corrupt := errors.AsType[flate.CorruptInputError](err)
		if corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) {
			err = fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name, err)
		}
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%w: the checksum of %s is %s, not %s", ErrDamaged, f.Name, got, f.SHA256)
	}
	return out.Sync()
}
