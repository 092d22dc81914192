package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// documents covers sources whose tools come from a document.
func (s suite) documents(t *testing.T) {
	src := source("doc", "pets")
	src.Kind, src.Document = "openapi", `{"openapi":"3.1.0"}`
	src.Spec = store.Spec{BaseURL: "http://x", Auth: &store.Auth{Kind: credential.Bearer, Secret: "${env:X}"}, Pin: false}
	if err := s.CreateSource(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	read := func() store.Source {
		t.Helper()
		got, err := s.Source(t.Context(), "doc", "pets")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); got.Document != src.Document || got.Spec.Auth == nil || got.Spec.Auth.Secret != "${env:X}" {
		t.Errorf("created: %+v", got)
	}
	found := store.Inventory{
		Digest: "d1", Warnings: []string{"GET /x: no"}, Time: begin,
		Tools: []store.Found{{OriginalName: "list", Raw: []byte(`{}`), Effect: store.Read, Tags: []string{"a", "b"}, Deprecated: true}},
	}
	if _, err := s.ApplyInventory(t.Context(), read(), found); err != nil {
		t.Fatal(err)
	}
	synced := read()
	if synced.Digest != "d1" || !slices.Equal(synced.Warnings, found.Warnings) {
		t.Errorf("synced: %+v", synced)
	}
	tools, err := s.Tools(t.Context(), "doc", []string{"pets__list"})
	if err != nil || len(tools) != 1 || !slices.Equal(tools[0].Definition.Tags, []string{"a", "b"}) || !tools[0].Definition.Deprecated {
		t.Errorf("tools: %+v, %v", tools, err)
	}
	texts, err := s.ToolTexts(t.Context(), "doc", "", 10)
	if err != nil || len(texts) != 1 || texts[0].Name != "pets__list" || !slices.Equal(texts[0].Tags, []string{"a", "b"}) {
		t.Errorf("texts: %+v, %v", texts, err)
	}
	version, err := s.ToolsVersion(t.Context(), "doc")
	if none, other := s.ToolsVersion(t.Context(), "none"); err != nil || other != nil || version == "" || version == none {
		t.Errorf("versions %q and %q, %v, %v", version, none, err, other)
	}
	diff, err := s.ApplyInventory(t.Context(), synced, store.Inventory{Unchanged: true, Time: begin.Add(1e9)})
	if err != nil || diff.Total != 1 || len(diff.Removed) > 0 || !read().SyncTime.Equal(begin.Add(1e9)) {
		t.Errorf("unchanged: %+v, %v, %v", diff, err, read().SyncTime)
	}
	synced.Digest = "of another document"
	if _, err := s.ApplyInventory(t.Context(), synced, store.Inventory{Unchanged: true, Time: begin}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("unchanged, of another document: %v", err)
	}
	if again, err := s.ToolsVersion(t.Context(), "doc"); err != nil || again != version {
		t.Errorf("version %q, after nothing changed %q, %v", version, again, err)
	}
	changed := read()
	changed.Document = ""
	changed.Spec.URL = "http://x/openapi.json"
	if err := s.UpdateSource(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if again, err := s.ToolsVersion(t.Context(), "doc"); err != nil || again == version {
		t.Errorf("version %q, after its source changed %q, %v", version, again, err)
	}
	if got := read(); got.Document != "" || got.Spec.URL == "" {
		t.Errorf("updated: %+v", got)
	}
	none, err := s.ToolsVersion(t.Context(), "doc-without-tools")
	bare := read()
	bare.Tenant, bare.ID = "doc-without-tools", "src_without_tools"
	if err := errors.Join(err, s.CreateSource(t.Context(), bare)); err != nil {
		t.Fatal(err)
	}
	if one, err := s.ToolsVersion(t.Context(), bare.Tenant); err != nil || one == none {
		t.Errorf("version %q, with a source without tools %q, %v", none, one, err)
	}
	s.descriptors(t)
}

// descriptors covers sources that have a document besides a URL.
func (s suite) descriptors(t *testing.T) {
	server := source("doc", "shop")
	server.Kind, server.Document = "grpc", "Cg=="
	server.Spec = store.Spec{URL: "grpc://x:1", KeyHeader: "key"}
	if err := s.CreateSource(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Source(t.Context(), "doc", "shop"); err != nil || got.Document != "Cg==" || got.Spec.KeyHeader != "key" {
		t.Errorf("descriptors besides a URL: %+v, %v", got, err)
	}
}
