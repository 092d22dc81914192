package builtin

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Name is the name of the kind.
const Name = "builtin"

// Kind is the mesh itself, of which there is one source.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts {
	return source.Facts{Name: Name, Own: true, Silent: true, Uncached: true}
}

// Validate implements source.Kind.
func (Kind) Validate(s store.Source, bad source.Bad) {
	source.NoAPI(s, bad)
	if s.Spec.Auth != nil {
		bad("source.auth", "a built-in source has no auth")
	}
	if s.Name != store.Mesh {
		bad("source.name", `the built-in source is named "`+store.Mesh+`"`)
	}
	if s.Spec.URL != "" || len(s.Spec.Command) > 0 {
		bad("source.kind", "a built-in source has neither url nor command")
	}
	if s.Spec.Pin {
		bad("source.pin", "the mesh's own tools change with its version, and cannot be pinned")
	}
}

// Trusted reports whether the results of a tool are trusted: all but an artifact, which may hold what another tool said, and what documents
// say.
func Trusted(tool string) bool {
	return tool != readArtifact && tool != searchKnowledge && tool != readDocument
}

// Discover implements source.Driver.
func (ts Tools) Discover(context.Context, store.Source, source.User) (store.Inventory, error) {
	tools, err := ts.List()
	if err != nil {
		return store.Inventory{}, err
	}
	inv := store.Inventory{ServerVersion: Version}
	for _, t := range tools {
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Title: t.Title, Description: t.Description, Raw: t.Raw, InputSchema: t.InputSchema, Effect: store.Read,
		})
	}
	return inv, nil
}

// Call implements source.Driver.
func (ts Tools) Call(ctx context.Context, r *source.Request, _ func(source.Notice)) (source.Reply, error) {
	if r.Tool == AskUser {
		return ask(r)
	}
	result, ok, err := ts.run(ctx, r)
	if !ok {
		return source.Reply{}, source.Unsent(fault.NotFound("the mesh has no tool %q", r.Tool).Cause(err))
	}
	if _, away := errors.AsType[awayError](err); away {
		return source.Reply{}, source.Doubtful(err) // all of them only read: they may be repeated
	}
	if err != nil {
		result = source.Text(err.Error(), true)
	}
	return source.Reply{Result: result}, nil
}
