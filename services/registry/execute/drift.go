package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// drift compares a tool with the definition that the turn pinned. True means that the definition changed in a way that matters: such a call
// needs an approval for the present definition. For a READ tool only the input schema matters. The tool gets the stricter of both effect
// classes, so that a server cannot bypass approval rules during a turn.
func (a admission) drift(ctx context.Context, r *request, t *store.Tool) (bool, error) {
	if r.Pinned == "" || r.Pinned == t.DefinitionHash {
		return false, nil
	}
	found, err := a.store.Definitions(ctx, r.Tenant, []string{r.Pinned, t.DefinitionHash})
	if err != nil {
		return false, fmt.Errorf("read definitions: %w", err)
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
		return true, nil
	}
	t.Effect = max(t.Effect, t.Source.Effect(*then))
	return t.Effect != store.Read || !sameJSON(then.InputSchema, now.InputSchema), nil
}

// sameJSON reports whether two texts are the same JSON; invalid texts are never the same.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
