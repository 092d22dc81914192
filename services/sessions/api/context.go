package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Prompts makes what models were sent, by the code that workers make it with.
type Prompts interface {
	// Read returns what model step n of a loaded turn was sent after a conversation. file reads a part of a file of its session.
	Read(ctx context.Context, loaded *executionv1.LoadTurnResponse, n uint32, history *executionv1.GetContextResponse,
		file func(context.Context, *executionv1.ReadTurnFileRequest) (*executionv1.ReadTurnFileResponse, error),
	) (*sessionsv1.TurnContext, error)
}

// stepReader reads the steps of turns and their messages.
type stepReader interface {
	Steps(ctx context.Context, tenant, turn string) ([]store.Step, error)
	Message(ctx context.Context, tenant, id string) (store.Message, error)
}

// Contexts reads what the models of turns were sent.
type Contexts struct {
	execution *Execution
	steps     stepReader
	prompts   Prompts
}

// NewContexts returns what reads contexts. Without prompts they are not available.
func NewContexts(execution *Execution, steps stepReader, prompts Prompts) *Contexts {
	return &Contexts{execution: execution, steps: steps, prompts: prompts}
}

// GetTurnContext implements TurnService.
func (s *Turns) GetTurnContext(ctx context.Context, req *sessionsv1.GetTurnContextRequest) (*sessionsv1.TurnContext, error) {
	return s.deps.Contexts.get(ctx, req)
}

// get returns the context of a step, with its comparison to another one.
func (c *Contexts) get(ctx context.Context, req *sessionsv1.GetTurnContextRequest) (*sessionsv1.TurnContext, error) {
	if c.prompts == nil {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "this process does not read the contexts of turns")
	}
	loaded, err := c.execution.LoadTurn(ctx, &executionv1.LoadTurnRequest{TurnId: req.GetTurnId()})
	if err != nil {
		return nil, err
	}
	if loaded.GetUnresolved() != nil {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "%s", loaded.GetUnresolved().GetMessage())
	}
	t, ses, err := c.execution.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	rows, err := c.steps.Steps(ctx, t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	r := contextReader{c, loaded, t, ses, modelSteps(rows)}
	n := req.GetStep()
	if n == 0 {
		n = uint32(len(r.steps))
	}
	out, err := r.read(ctx, n)
	if err != nil || req.GetAgainst() == 0 {
		return out, err
	}
	other, err := r.read(ctx, req.GetAgainst())
	if err != nil {
		return nil, err
	}
	out.Against, out.Diff = req.GetAgainst(), contextDiff(other.GetParts(), out.GetParts())
	return out, nil
}

// modelSteps returns the model steps in the order of their numbers.
func modelSteps(rows []store.Step) []store.Step {
	byNumber := map[int]store.Step{}
	for _, row := range rows {
		if n, ok := stepkey.ParseInfer(row.Key); ok {
			byNumber[n] = row
		}
	}
	var out []store.Step
	for n := 1; ; n++ {
		row, ok := byNumber[n]
		if !ok {
			return out
		}
		out = append(out, row)
	}
}

// contextReader reads the contexts of one turn.
type contextReader struct {
	*Contexts
	loaded  *executionv1.LoadTurnResponse
	turn    store.Turn
	session store.Session
	steps   []store.Step
}

// read returns the context of model step n.
func (r contextReader) read(ctx context.Context, n uint32) (*sessionsv1.TurnContext, error) {
	if n == 0 || int(n) > len(r.steps) || r.loaded.GetSurface() == nil {
		return nil, fault.NotFound("turn %s has no model step %d", r.turn.ID, max(n, 1)).
			Hint("It has %d model steps so far. Steps that plan, choose or summarise are not among them.", len(r.steps))
	}
	row := r.steps[n-1]
	outcome, err := row.StepOutcome()
	if err != nil {
		return nil, err
	}
	written, err := r.written(ctx, outcome)
	if err != nil {
		return nil, err
	}
	end := store.EndOf(r.turn.Place)
	if written.ID != "" {
		end = written.Point()
	}
	w, err := r.execution.deps.Conversations.WindowBefore(ctx, r.turn, r.session, end, row.FirstSeq)
	if err != nil {
		return nil, err
	}
	// The reader may change what it is given for its step; the turn is read once for two steps.
	out, err := r.prompts.Read(ctx, proto.CloneOf(r.loaded), n, convert.WindowToProto(&w), r.execution.ReadTurnFile)
	if err != nil {
		return nil, err
	}
	out.Tokens, out.Counted = out.GetEstimatedTokens(), sessionsv1.TokenCount_TOKEN_COUNT_ESTIMATED
	if used := countedTokens(row, outcome); used > 0 {
		out.Tokens, out.Counted = used, sessionsv1.TokenCount_TOKEN_COUNT_PROVIDER
	}
	if written.ID == "" {
		return out, nil
	}
	m, err := conversation.Message(written)
	if err == nil && m.GetModel() != "" {
		out.Model = m.GetModel()
	}
	return out, err
}

// written reads the message that a step has written; the zero value if there is none.
func (r contextReader) written(ctx context.Context, outcome *turnv1.StepOutcome) (store.Message, error) {
	if outcome.GetMessageId() == "" {
		return store.Message{}, nil
	}
	m, err := r.Contexts.steps.Message(ctx, r.turn.Tenant, outcome.GetMessageId())
	if errors.Is(err, store.ErrNotFound) {
		return store.Message{}, nil
	}
	return m, err
}

// countedTokens returns what the provider has counted of the one call of a step; 0 if the step made several, or was cut off, so that its
// usage is an estimate.
func countedTokens(row store.Step, outcome *turnv1.StepOutcome) int64 {
	cut := outcome.GetFinishReason() == "cancelled" || outcome.GetFinishReason() == "deadline"
	if !row.Done || cut || outcome.GetUsage().GetModelCalls() != 1 {
		return 0
	}
	return int64(outcome.GetUsage().GetInputTokens())
}
