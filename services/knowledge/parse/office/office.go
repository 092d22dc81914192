// Package office opens documents of Office: ZIP archives of XML files, within limits.
package office

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Limits of an archive.
const (
	maxEntries = 20_000
	maxEntry   = 256 << 20 // bytes of an entry that is read
	maxTotal   = 512 << 20 // and of all that are read
	// maxRatio is how much larger than its compressed form an entry of more than minRatio bytes may be.
	maxRatio, minRatio = 400, 4 << 20
)

// Archive is a document.
type Archive struct {
	entries map[string]*zip.File
	left    int64 // bytes that may still be read
}

// Open opens a document.
func Open(data []byte) (*Archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, damaged()
	}
	if len(z.File) > maxEntries {
		return nil, document.Refuse("has more than %d parts", maxEntries)
	}
	a := &Archive{entries: make(map[string]*zip.File, len(z.File)), left: maxTotal}
	for _, f := range z.File {
		name := strings.ToLower(strings.TrimPrefix(f.Name, "/"))
		if a.entries[name] != nil {
			return nil, document.Refuse("has a part twice: save it again with Office or LibreOffice")
		}
		a.entries[name] = f
	}
	return a, nil
}

func damaged() error {
	return document.Refuse("is a damaged Office document: save it again with Office or LibreOffice")
}

// Has reports whether there is a part.
func (a *Archive) Has(name string) bool { return a.entries[strings.ToLower(name)] != nil }

// Part opens a part; nil if there is none. What reads from it is refused when the part is larger than the limits.
func (a *Archive) Part(name string) (*Reader, error) {
	f := a.entries[strings.ToLower(name)]
	if f == nil {
		return nil, nil
	}
	const encrypted = 0x1
	if f.Flags&encrypted != 0 {
		return nil, document.Refuse("is encrypted: save it without a password")
	}
	size := f.UncompressedSize64
	if size > maxEntry || size > minRatio && size/maxRatio > f.CompressedSize64 {
		return nil, document.Refuse("has a part that unfolds to more than is read: split it into several documents")
	}
	in, err := f.Open()
	if err != nil {
		return nil, damaged()
	}
	// Go's reader returns no more bytes than the archive declares, so that size holds for what is read.
	if a.left -= int64(size); a.left < 0 {
		return nil, document.Refuse("unfolds to more than %d MiB: split it into several documents", maxTotal>>20)
	}
	return newReader(io.LimitReader(in, int64(size))), nil
}

// Relation is a part that another one refers to.
type Relation struct {
	ID, Kind, Target string
}

// Relations returns what a part refers to, but not what is outside of the archive. Kind is the last word of its type.
func (a *Archive) Relations(part string) ([]Relation, error) {
	dir := path.Dir(part)
	r, err := a.Part(path.Join(dir, "_rels", path.Base(part)+".rels"))
	if r == nil || err != nil {
		return nil, err
	}
	var out []Relation
	for {
		token, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "Relationship" || Attribute(e, "TargetMode") == "External" || len(out) == maxEntries {
			continue
		}
		target := Attribute(e, "Target")
		if rooted, ok := strings.CutPrefix(target, "/"); ok {
			target = rooted
		} else {
			target = path.Join(dir, target)
		}
		out = append(out, Relation{ID: Attribute(e, "Id"), Kind: path.Base(Attribute(e, "Type")), Target: target})
	}
}

// Main returns the name of the main part, other if the archive does not say.
func (a *Archive) Main(other string) (string, error) {
	relations, err := a.Relations("")
	for _, r := range relations {
		if r.Kind == "officeDocument" && a.Has(r.Target) {
			return r.Target, nil
		}
	}
	return other, err
}

// Title returns the title that the document's properties have.
func (a *Archive) Title() (string, error) {
	r, err := a.Part("docProps/core.xml")
	if r == nil || err != nil {
		return "", err
	}
	for {
		token, err := r.Next()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
			return r.Text()
		}
	}
}
