package execute

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// attempt is one attempt of a call. Its stages fill it in, from the tool on.
type attempt struct {
	x      *Executor
	req    *request
	flight *flight          // nil for a check
	row    *store.Execution // that of an earlier attempt; nil for a new key

	tool     store.Tool
	changed  bool   // the definition differs from the pinned one in a way that matters
	approval string // the id of the approval that covers the call; empty = none
	decision *policyv1.Decision
	fill     *cache.Fill // keeps the result; nil if it is not to be kept
	entry    *entry      // the open row
}

// stage is a part of an attempt. An outcome ends the attempt, and so does an error, which is ours.
type stage func(*attempt, context.Context) (*Outcome, error)

// The stages of a call, in order. Resolving and admitting write nothing.
var (
	resolving = []stage{(*attempt).resolve, (*attempt).drift}
	admitting = []stage{(*attempt).decide, (*attempt).check, (*attempt).approve}
	executing = []stage{(*attempt).recall, (*attempt).count, (*attempt).open, (*attempt).send}
)

// run runs stages until one ends the attempt; nil if none does.
func (a *attempt) run(ctx context.Context, parts ...[]stage) (*Outcome, error) {
	for _, next := range slices.Concat(parts...) {
		if out, err := next(a, ctx); err != nil || out != nil {
			return out, err
		}
	}
	return nil, nil
}

// attempt runs the call. The row is that of an earlier attempt, nil for a new key.
func (x *Executor) attempt(ctx context.Context, f *flight, r *request, row *store.Execution) (Outcome, error) {
	a := &attempt{x: x, req: r, flight: f, row: row}
	var result *turnv1.ToolResult
	defer func() { a.close(ctx, result) }()
	out, err := a.run(ctx, resolving, admitting, executing)
	if failed := a.handOver(ctx); failed != nil {
		return Outcome{}, failed
	}
	if err != nil && out == nil {
		return Outcome{}, err
	}
	if err == nil {
		result = keepable(*out)
	}
	out.source = a.tool.Source.Name
	return *out, err
}

// close ends what the stages began.
func (a *attempt) close(ctx context.Context, result *turnv1.ToolResult) {
	if a.entry != nil {
		a.entry.stop()
		a.x.flights.release(a.entry.row.ID)
	}
	a.fill.Done(ctx, result)
}

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
	a := &attempt{x: x, req: newRequest(c)}
	out, err := a.run(ctx, resolving, admitting)
	return decided(a.decision), out, err
}

// Check makes all checks of a call, for a tool that the mesh runs itself: it writes nothing to the ledger and sends nothing. A nil outcome
// means that the call may run.
func (x *Executor) Check(ctx context.Context, c Call, def Definition) (*Decision, *Outcome, error) {
	if _, known := x.deps.Schemas.Get(def.Hash); !known {
		x.deps.Schemas.Add(ctx, def.Hash, c.Tool, def.InputSchema)
	}
	a := &attempt{x: x, req: newRequest(c), tool: store.Tool{
		Definition: store.Definition{Hash: def.Hash, Name: c.Tool}, DefinitionHash: def.Hash, Effect: def.Effect,
	}}
	out, err := a.run(ctx, admitting)
	return decided(a.decision), out, err
}

// keepable returns the result of a call that can be given to the next caller; nil if there is none.
func keepable(out Outcome) *turnv1.ToolResult {
	if out.Fault != nil || out.Input != nil || out.Code != "" || out.Result.GetIsError() {
		return nil
	}
	return out.Result
}

func refused(f *fault.Error) *Outcome {
	if f == nil {
		return nil
	}
	out := failed(f)
	return &out
}
