// Package backup writes the data directory of an embedded Windlass to one file while it runs, and restores it.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/dirid"
)

// Format is the version of the format of a backup.
const Format = 1

// manifestName is the first file of an archive.
const manifestName = "manifest.json"

// Kinds of files.
const (
	// Database is a SQLite file.
	Database = "database"
	// Key is a secret with which data is sealed or signed, or users and clients log in.
	Key = "key"
	// Other is any other file.
	Other = "file"
)

// Manifest says what a backup holds.
type Manifest struct {
	// Format is the version of the format, Format when it was written by this program.
	Format int `json:"format"`
	// Windlass is the version of the program that made the backup.
	Windlass string `json:"windlass"`
	// CreateTime is when it began.
	CreateTime time.Time `json:"create_time"`
	// DataDir is the absolute path of the data directory; "" in backups of versions that did not record it.
	DataDir string `json:"data_dir,omitempty"`
	// Files are those that the archive has, in its order.
	Files []File `json:"files"`
	// LeftOut are the keys of the data directory that the archive does not have.
	LeftOut []File `json:"left_out"`
}

// File is a file of a data directory.
type File struct {
	// Name is its path in the directory, with slashes.
	Name string `json:"name"`
	// Kind is Database, Key or Other.
	Kind string `json:"kind"`
	// Size is that of a file of the archive, in bytes.
	Size int64 `json:"size,omitempty"`
	// SHA256 is the hexadecimal checksum of a file of the archive; Fingerprint the first 16 digits of that of a key that is left out.
	SHA256      string `json:"sha256,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Bytes is the size of all files together.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Has reports whether the archive has a file.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// check rejects a manifest that this program cannot restore.
func (m Manifest) check() error {
	if m.Format != Format {
		return fmt.Errorf("the backup has format %d, and this program reads %d: use the version of Windlass that made it (%s)", m.Format, Format,
			m.Windlass)
	}
	seen := map[string]bool{}
	for _, f := range slices.Concat(m.Files, m.LeftOut) {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) || path.Clean(f.Name) != f.Name || f.Name == manifestName || seen[f.Name] || f.Size < 0 {
			return fmt.Errorf("%w: it lists a file %q", ErrDamaged, f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// skipped are folders and files that a start creates again: the message bus keeps the last hour of deltas and a cache, and the certificates
// of Temporal follow from the mesh's key. A file system has lost+found where it is mounted.
var skipped = []string{"bus", "temporal", "access.address", "lock", manifestName, lostFound}

// lostFound is the folder of a file system that is empty otherwise.
const lostFound = "lost+found"

// issuerDir is the folder of the built-in issuer. The product has its other files beside it; further folders belong to tool servers.
const issuerDir = "issuer"

// list lists the files of a data directory: databases first, the ledger of tool calls last among them, so that it has each call that the
// other databases speak of.
func list(dir string) (files []File, err error) {
	if _, err := os.Stat(filepath.Join(dir, dirid.Name)); err != nil {
		return nil, fmt.Errorf("%s is no data directory of Windlass: %w", dir, err)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it was replaced meanwhile
			return nil
		}
		if err != nil || p == dir {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case slices.Contains(skipped, name) && d.IsDir():
			return filepath.SkipDir
		case !d.Type().IsRegular(), slices.Contains(skipped, name):
			return nil
		}
		if kind := kindOf(dir, name); kind != "" {
			files = append(files, File{Name: name, Kind: kind})
		}
		return nil
	})
	slices.SortStableFunc(files, func(a, b File) int { return rank(a) - rank(b) })
	return files, err
}

// kindOf returns the kind of a file, "" for what belongs to a running process. Names say what the product's own files are. Those of other
// programs are files like any other, but for databases, which may be in use.
func kindOf(dir, name string) string {
	ext := path.Ext(name)
	if ext == ".tmp" { // the example server of notes replaces its files so, as other programs do
		return ""
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if database, ok := strings.CutSuffix(name, suffix); ok && kindOf(dir, database) == Database {
			return ""
		}
	}
	if folder := path.Dir(name); folder != "." && folder != issuerDir {
		if ext == ".db" && isSQLite(filepath.Join(dir, filepath.FromSlash(name))) {
			return Database
		}
		return Other
	}
	switch {
	case ext == ".lock", ext == ".new":
		return ""
	case ext == ".db":
		return Database
	case ext == ".key", ext == ".token", ext == ".pem", name == issuerDir+"/accounts.json":
		return Key
	}
	return Other
}

// isSQLite reports whether a file begins as SQLite files do.
func isSQLite(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return errors.Join(err, f.Close()) == nil && string(head) == magic
}

func rank(f File) int {
	switch {
	case f.Name == "registry.db":
		return 1
	case f.Kind == Database:
		return 0
	}
	return 2
}

func fingerprint(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
