package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/nearest"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

const (
	// maxCandidates limits the names that a wrong one is compared with.
	maxCandidates = 2000
	// maxNear limits the suggested names.
	maxNear = 5
)

// toolName matches names of ours; for anything else that a model wrote the database is not asked.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// resolve reads the tool.
func (a *attempt) resolve(ctx context.Context) (*Outcome, error) {
	r := a.req
	t, err := store.Tool{}, store.ErrNotFound
	if r.InSurface && toolName.MatchString(r.Tool) {
		t, err = a.x.deps.Store.Tool(ctx, r.Tenant, r.Tool)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a.unknown(ctx)
	case err != nil:
		return nil, fmt.Errorf("look up tool: %w", err)
	case t.Source.Disabled:
		return refused(fault.NotFound("the tool %q is switched off", r.Tool).Hint("Go on without it.")), nil
	case t.DriftedHash != "":
		return refused(definitionHeld(r.Tool)), nil
	}
	a.tool = t
	return nil, nil
}

// unknown refuses an unknown tool, with similar names.
func (a *attempt) unknown(ctx context.Context) (*Outcome, error) {
	r := a.req
	names, err := a.x.deps.Store.ToolNames(ctx, r.Tenant, "", "", maxCandidates)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	near := nearestTools(r.Tool, names)
	f := fault.NotFound("there is no tool %q", r.Tool)
	if len(near) > 0 {
		allowed, err := a.x.deps.Policy.FilterTools(ctx, &policyv1.FilterToolsRequest{Principal: r.Principal, Tools: near})
		if err != nil {
			return nil, fmt.Errorf("ask policy: %w", err)
		}
		near = allowed.GetTools()
	}
	if len(near) > 0 {
		return refused(f.Hint("Did you mean %s?", strings.Join(near, ", "))), nil
	}
	return refused(f.Hint("Use a tool from the list you were given.")), nil
}

// nearestTools returns the names most similar to a wrong one, the best first: those a few letters away, and those of the same tool under
// another prefix.
func nearestTools(name string, names []string) []string {
	wrong := strings.ToLower(name)
	return nearest.Names(name, names, maxNear, func(known string) bool {
		_, tool, _ := strings.Cut(strings.ToLower(known), "__")
		return tool != "" && (tool == wrong || strings.HasSuffix(wrong, "_"+tool))
	})
}

// definitionHeld is the fault of a tool of a pinned source whose changed definition no operator has accepted.
func definitionHeld(tool string) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_DEFINITION_CHANGED,
		"the source of the tool %q changed its definition, which no operator has accepted yet; it was not called", tool).
		Hint("Go on without it, and tell the user that an operator has to accept the new definition.")
}

// drift compares the tool with the definition that the turn pinned. A call of a tool that changed in a way that matters needs an approval
// for the present definition. For a READ tool only the input schema matters. The tool gets the stricter of both effect classes, so that a
// server cannot bypass approval rules during a turn.
func (a *attempt) drift(ctx context.Context) (*Outcome, error) {
	r, t := a.req, &a.tool
	if r.Pinned == "" || r.Pinned == t.DefinitionHash {
		return nil, nil
	}
	found, err := a.x.deps.Store.Definitions(ctx, r.Tenant, []string{r.Pinned, t.DefinitionHash})
	if err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	var then, now *store.Definition
	for i := range found {
		switch found[i].Hash {
		case r.Pinned:
			then = &found[i]
		case t.DefinitionHash:
			now = &found[i]
		}
	}
	if then == nil || now == nil {
		a.changed = true
		return nil, nil
	}
	t.Effect = max(t.Effect, t.Source.Effect(*then))
	a.changed = t.Effect != store.Read || !sameJSON(then.InputSchema, now.InputSchema)
	return nil, nil
}

// sameJSON reports whether two texts are the same JSON; invalid texts are never the same.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
