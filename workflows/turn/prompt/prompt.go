// Package prompt shows what the model of a turn was sent at a model step, made by the code that made it for the model.
package prompt

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/media"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/infer"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// registry is what is asked of the registry.
type registry interface {
	GetDefinitions(context.Context, *registryv1.GetDefinitionsRequest, ...grpc.CallOption) (*registryv1.GetDefinitionsResponse, error)
}

// memory is what is asked of the knowledge service.
type memory interface {
	ReadFacts(context.Context, *knowledgev1.ReadFactsRequest, ...grpc.CallOption) (*knowledgev1.ReadFactsResponse, error)
	ReadPassages(context.Context, *knowledgev1.ReadPassagesRequest, ...grpc.CallOption) (*knowledgev1.ReadPassagesResponse, error)
}

// Deps are what a Reader works with; all are required.
type Deps struct {
	// Tools has the pinned definitions.
	Tools registry
	// Shields check texts.
	Shields shield.TextChecker
	// Facts has the facts about users.
	Facts memory
	// MaxShownTools is the workers' setting.
	MaxShownTools int
}

// Reader reads contexts. It is safe for concurrent use.
type Reader struct {
	facts   memory
	pinned  *pinned.Cache
	shields *shield.Checker
	media   *media.Converter
}

// New returns a Reader.
func New(deps Deps) (*Reader, error) {
	if deps.Tools == nil || deps.Shields == nil || deps.Facts == nil || deps.MaxShownTools <= 0 {
		return nil, errors.New("prompt: Tools, Shields, Facts and MaxShownTools are required")
	}
	shields, err := shield.New(deps.Shields)
	if err != nil {
		return nil, err
	}
	converter, err := media.New()
	if err != nil {
		return nil, err
	}
	return &Reader{
		facts: deps.Facts, pinned: pinned.NewViewer(deps.MaxShownTools, deps.Tools), shields: shields, media: converter,
	}, nil
}

// Read returns what model step n of a turn that has begun was sent. history is the conversation that the step has read; file reads a part
// of a file of its session.
func (r *Reader) Read(ctx context.Context, loaded *executionv1.LoadTurnResponse, n uint32, history *executionv1.GetContextResponse,
	file func(context.Context, *executionv1.ReadTurnFileRequest) (*executionv1.ReadTurnFileResponse, error),
) (*sessionsv1.TurnContext, error) {
	t := loaded.GetTurn()
	w := &step.Work{
		Turn: contract.TurnInput{
			Tenant: loaded.GetPrincipal().GetTenant(), TurnID: t.GetId(), SessionID: t.GetSessionId(), AgentID: t.GetAgentId(),
		},
		Ref: stepRef(loaded.GetOutcomes(), int(n)), Loaded: loaded,
	}
	kind := infer.Kind{Deps: infer.Deps{Sessions: files{read: file}, Pinned: r.pinned, Shields: r.shields, Facts: r.facts, Media: r.media}}
	req, err := kind.Request(ctx, w, history)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.TurnContext{
		Step: n, Model: req.GetModel(), Parts: parts(loaded, req, history.GetMessages()), Truncated: history.GetTruncated(),
		Compacted: history.GetCompacted(),
	}
	for _, p := range out.GetParts() {
		out.EstimatedTokens += p.GetTokens()
	}
	return out, nil
}

// stepRef returns model step n as the engine decided it after the steps before it.
func stepRef(outcomes []*turnv1.StepOutcome, n int) *turnv1.StepRef {
	key := stepkey.Infer(n)
	if i := slices.IndexFunc(outcomes, func(o *turnv1.StepOutcome) bool { return o.GetKey() == key }); i >= 0 {
		outcomes = outcomes[:i]
	}
	for _, ref := range engine.Next(engine.State{Outcomes: outcomes}).Steps {
		if ref.GetKey() == key {
			return ref
		}
	}
	ref := &turnv1.StepRef{Key: key, Kind: turnv1.StepKind_STEP_KIND_INFER}
	for _, o := range outcomes {
		if o.GetKey() == stepkey.Select {
			ref.Strategy = o.GetStrategy()
		}
	}
	return ref
}

// files is a journal that has only files.
type files struct {
	executionv1.ExecutionServiceClient

	read func(context.Context, *executionv1.ReadTurnFileRequest) (*executionv1.ReadTurnFileResponse, error)
}

// ReadTurnFile implements the part of ExecutionService that making a request calls.
func (f files) ReadTurnFile(ctx context.Context, req *executionv1.ReadTurnFileRequest, _ ...grpc.CallOption) (
	*executionv1.ReadTurnFileResponse, error,
) {
	return f.read(ctx, req)
}
