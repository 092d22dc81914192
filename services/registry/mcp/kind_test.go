package mcp

import (
	"errors"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

func TestWhatTheBridgeSaysAboutTokens(t *testing.T) {
	said := func(key, value string) error {
		f := fault.Unavailable(0, "no")
		f.Details = map[string]string{key: value}
		return f
	}
	own := store.Source{Spec: store.Spec{Auth: &credential.Auth{Kind: credential.AuthorizationCode}}}
	for name, row := range map[string]struct {
		src  store.Source
		err  error
		want error
	}{
		"nothing":                {own, nil, nil},
		"another error":          {own, said("x", "y"), nil},
		"the token":              {own, said(detailRefused, "true"), source.ErrRefused},
		"scopes":                 {own, said(detailScopes, "a b"), &source.ScopesError{Wanted: []string{"a", "b"}}},
		"no scopes":              {own, said(detailScopes, ""), &source.ScopesError{}},
		"a source of the mesh's": {store.Source{}, said(detailRefused, "true"), nil},
	} {
		got := refusedToken(row.src, row.err)
		wanted, scopes := errors.AsType[*source.ScopesError](row.want)
		have, ok := errors.AsType[*source.ScopesError](got)
		if scopes != ok || ok && !slices.Equal(have.Wanted, wanted.Wanted) || !ok && !errors.Is(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
