package execute

import (
	"context"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// Definition is the definition of a tool that the mesh runs itself, without the registry.
type Definition struct {
	// Hash identifies the definition, InputSchema is its JSON Schema.
	Hash        string
	InputSchema []byte
	// Effect says what may be repeated.
	Effect store.Effect
}

// CheckTool makes all checks of a call, for a tool of a source whose calls within turns are not sent by the registry. It writes nothing to
// the ledger. A nil outcome means that the call may run.
func (x *Executor) CheckTool(ctx context.Context, c Call) (*Decision, *Outcome, error) {
	r := newRequest(c)
	t, gone, err := x.admission.resolve(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if gone != nil {
		out := failed(gone)
		return nil, &out, nil
	}
	changed, err := x.admission.drift(ctx, r, &t)
	if err != nil {
		return nil, nil, err
	}
	approval := approvalFor(r, t, nil)
	d, err := x.admission.decide(ctx, r, t, approval)
	if err != nil {
		return nil, nil, err
	}
	out, err := x.admission.admit(ctx, r, t, d, approval, changed)
	return decided(d), out, err
}

// Check makes all checks of a call, for a tool that the mesh runs itself: it writes nothing to the ledger and sends nothing. A nil outcome
// means that the call may run.
func (x *Executor) Check(ctx context.Context, c Call, def Definition) (*Decision, *Outcome, error) {
	r := newRequest(c)
	t := store.Tool{Definition: store.Definition{Hash: def.Hash, Name: c.Tool}, DefinitionHash: def.Hash, Effect: def.Effect}
	if _, known := x.admission.schemas.Get(def.Hash); !known {
		x.admission.schemas.Add(ctx, def.Hash, c.Tool, def.InputSchema)
	}
	approval := approvalFor(r, t, nil)
	d, err := x.admission.decide(ctx, r, t, approval)
	if err != nil {
		return nil, nil, err
	}
	out, err := x.admission.admit(ctx, r, t, d, approval, false)
	return decided(d), out, err
}
