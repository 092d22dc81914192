package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is a file or folder of an image. Its folders are made where no entry names them.
type entry struct {
	// path is absolute, with slashes.
	path string
	mode int64
	// owner is the number of its user and group.
	owner int
	data  []byte
	// folder says that it is one, without data.
	folder bool
}

// layer is a tar archive of files, compressed, in memory.
type layer struct {
	compressed []byte
	// plain is the digest before compression.
	plain v1.Hash
}

// newLayer packs entries in their order. The same entries and time give the same bytes, as long as the compiler is the same.
func newLayer(entries []entry, at time.Time) (v1.Layer, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	plain := sha256.New()
	t := tar.NewWriter(io.MultiWriter(z, plain))
	made := map[string]bool{}
	for _, e := range entries {
		for i := 1; i < len(e.path); i++ { // the folders above it
			if parent := e.path[:i]; e.path[i] == '/' && !made[parent] {
				made[parent] = true
				if err := write(t, entry{path: parent, mode: 0o755, folder: true}, at); err != nil {
					return nil, err
				}
			}
		}
		made[e.path] = made[e.path] || e.folder
		if err := write(t, e, at); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, fmt.Errorf("end a layer: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress a layer: %w", err)
	}
	l := &layer{compressed: out.Bytes(), plain: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))}}
	return partial.CompressedToLayer(l)
}

func write(t *tar.Writer, e entry, at time.Time) error {
	name := strings.TrimPrefix(path.Clean(e.path), "/")
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR,
	}
	if e.folder {
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("pack %s: %w", e.path, err)
	}
	if _, err := t.Write(e.data); err != nil {
		return fmt.Errorf("pack %s: %w", e.path, err)
	}
	return nil
}

// Digest implements partial.CompressedLayer.
func (l *layer) Digest() (v1.Hash, error) { return hashOf(l.compressed), nil }

// DiffID is the digest before compression.
func (l *layer) DiffID() (v1.Hash, error) { return l.plain, nil }

// Compressed implements partial.CompressedLayer.
func (l *layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.compressed)), nil
}

// Size implements partial.CompressedLayer.
func (l *layer) Size() (int64, error) { return int64(len(l.compressed)), nil }

// MediaType implements partial.CompressedLayer.
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

func hashOf(data []byte) v1.Hash {
	sum := sha256.Sum256(data)
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}
