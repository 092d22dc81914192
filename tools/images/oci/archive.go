package oci

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Archive writes an image to a file as an OCI image layout in a tar archive, which engines load. name is the one that it gets then, with its tag.
func Archive(file string, index v1.ImageIndex, name string, at time.Time) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(file), ".image-*")
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover is in a folder of ours
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	if err := p.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name,
	})); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	t := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // in lexical order
		if err != nil || path == dir {
			return err
		}
		return pack(t, dir, path, d, at)
	})
	if err == nil {
		err = t.Close()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	return nil
}

func pack(t *tar.Writer, dir, path string, d fs.DirEntry, at time.Time) error {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if d.IsDir() {
		h.Name, h.Mode, h.Typeflag = h.Name+"/", 0o755, tar.TypeDir
		return t.WriteHeader(h)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
