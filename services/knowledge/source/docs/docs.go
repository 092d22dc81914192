// Package docs is the kind "docs" of sources of banks: the documentation of this version of Windlass.
package docs

import (
	"context"
	"io/fs"
	"path"

	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Kind implements source.Kind.
type Kind struct {
	// Files has the pages, as Markdown.
	Files fs.FS
}

// Check implements source.Kind.
func (Kind) Check(spec store.SourceSpec) error { return source.Only(spec) }

// Read implements source.Kind.
func (k Kind) Read(ctx context.Context, _ store.SourceSpec, v source.Visitor) error {
	var names []string
	err := fs.WalkDir(k.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && name == "adr" { // records of decisions are for those who change Windlass
			return fs.SkipDir
		}
		if err == nil && !e.IsDir() && path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return source.Unreadable("the pages cannot be listed")
	}
	v.Total(len(names))
	for _, name := range names {
		data, err := fs.ReadFile(k.Files, name)
		if err != nil {
			return source.Unreadable("the page %s cannot be read", name)
		}
		if err := v.Found(ctx, source.Item{Key: name, Name: "docs/" + name, Data: data}); err != nil {
			return err
		}
	}
	return nil
}
