package skills

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// maxUnpacked limits what is unpacked of a compressed tar file: its files and the headers between them.
const maxUnpacked = maxBytes + 4*maxEntries<<10

// tarMagic is at tarMagicAt in a tar file.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
)

// readArchive reads a zip file or a tar file, which may be compressed with gzip. Errors say what is wrong with it.
func readArchive(ctx context.Context, t *tree, data []byte) error {
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("PK\x05\x06")):
		err = readZip(ctx, t, data)
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		var unpacked *gzip.Reader
		if unpacked, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			err = readTar(ctx, t, &bounded{unpacked, maxUnpacked})
		}
	case len(data) > tarMagicAt && bytes.HasPrefix(data[tarMagicAt:], []byte(tarMagic)):
		err = readTar(ctx, t, bytes.NewReader(data))
	default:
		return wrong("the archive is neither a zip file nor a tar file")
	}
	if _, said := errors.AsType[wrongError](err); err != nil && !said && ctx.Err() == nil {
		err = wrong("the archive cannot be read: %s", err)
	}
	return err
}

// bounded refuses to read more than left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, wrong("there are more than %d bytes in the archive", maxUnpacked)
	}
	return n, err
}

// entry is an entry of an archive.
type entry struct {
	name string
	mode fs.FileMode
	// odd is why it cannot be a part of a skill; empty = it can.
	odd  string
	open func() (io.ReadCloser, error)
}

// take reads an entry of an archive. One whose path leaves the archive is an error: somebody made it so.
func (t *tree) take(ctx context.Context, e entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.enter(); err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(e.name, "./"), "/")
	if name == "" || name == "." {
		return nil
	}
	if why := wrongPath(name); why != "" {
		return wrong("the entry %.100q of the archive is refused: %s", e.name, why)
	}
	switch {
	case hidden(name), e.mode.IsDir() && e.odd == "":
		return nil
	case e.odd != "":
		t.odd[name] = e.odd
		return nil
	case e.mode&fs.ModeSymlink != 0:
		t.odd[name] = "it is a symbolic link"
		return nil
	case !e.mode.IsRegular():
		t.odd[name] = "it is no regular file"
		return nil
	}
	r, err := e.open()
	if err != nil {
		return fmt.Errorf("%.100q: %w", name, err)
	}
	defer r.Close()
	return t.add(name, e.mode&0o111 != 0, r)
}

func readZip(ctx context.Context, t *tree, data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // take says which path it is
		return err
	}
	for _, f := range z.File {
		e := entry{name: f.Name, mode: f.Mode(), open: f.Open}
		if f.Flags&1 != 0 {
			e.odd = "it is encrypted"
		}
		if err := t.take(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func readTar(ctx context.Context, t *tree, r io.Reader) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return err
		case h.Typeflag == tar.TypeXGlobalHeader: // of the whole archive, as git writes it
			continue
		}
		e := entry{name: h.Name, mode: h.FileInfo().Mode(), open: func() (io.ReadCloser, error) { return io.NopCloser(archive), nil }}
		if h.Typeflag == tar.TypeLink {
			e.odd = "it is a link"
		}
		if err := t.take(ctx, e); err != nil {
			return err
		}
	}
}
