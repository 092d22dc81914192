package execute

import (
	"context"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// Definition is that of a tool which the registry does not have, because the mesh runs it by itself.
type Definition struct {
	// Hash names the definition, InputSchema is its JSON Schema.
	Hash        string
	InputSchema []byte
	// Effect says what may be repeated.
	Effect store.Effect
}

// Check asks all that is asked before a call leaves, for a tool that the mesh runs by itself: nothing is written to the ledger and nothing
// leaves. A nil outcome means that the call may run.
func (x *Executor) Check(ctx context.Context, c Call, def Definition) (*Decision, *Outcome, error) {
	r := newRequest(c)
	t := store.Tool{Definition: store.Definition{Hash: def.Hash, Name: c.Tool}, DefinitionHash: def.Hash, Effect: def.Effect}
	if _, known := x.deps.Schemas.Get(def.Hash); !known {
		x.deps.Schemas.Add(ctx, def.Hash, c.Tool, def.InputSchema)
	}
	leave := leaveFor(r, t, nil)
	d, err := x.decide(ctx, r, t, leave)
	if err != nil {
		return nil, nil, err
	}
	out, err := x.admit(ctx, r, t, d, leave, false)
	return decided(d), out, err
}
