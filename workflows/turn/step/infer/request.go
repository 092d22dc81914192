package infer

import (
	"context"

	"google.golang.org/protobuf/proto"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/plan"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

// Request is what a model step asks its model first.
type Request struct {
	*inferencev1.GenerateRequest
	// Own are the agent's instructions, and Facts the facts about the user, in the instructions of the request.
	Own   string
	Facts []*knowledgev1.Fact
}

// Request returns what a model step asks its model after a conversation, made by what the step makes it with. No model is asked. Files are
// read by Sessions.ReadTurnFile; the rest of Sessions is not called.
func (k Kind) Request(ctx context.Context, w *step.Work, history *step.History) (Request, error) {
	i := &infer{Deps: k.Deps, Work: w}
	p, err := i.newPrompt(ctx, history)
	if err != nil {
		return Request{}, err
	}
	req := p.request
	switch {
	case i.Strategy() == turnv1.Strategy_STRATEGY_REACT_TEXT:
		textForm(req)
	case plan.Routes(w):
		req = plan.RouteQuestion(w, req)
	}
	return Request{req, p.instructed.own, p.instructed.facts}, nil
}

// textForm puts a request into the form for a model without native tool calls.
func textForm(req *inferencev1.GenerateRequest) {
	req.Instructions, req.Tools = reacttext.Instructions(req.GetInstructions(), req.GetTools()), nil
	req.Messages = reacttext.Conversation(req.GetMessages())
	if g := req.GetGeneration(); g.GetToolChoice() != "" { // the provider is offered no tools to choose from
		req.Generation = proto.CloneOf(g)
		req.Generation.ToolChoice = ""
	}
}
