package steptest

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// AsRetry returns the RetryError in an error, nil if there is none.
func AsRetry(err error) *step.RetryError {
	retry, _ := errors.AsType[*step.RetryError](err)
	return retry
}

// Gate is a model that reports when it is asked, and answers when the gate opens or its caller goes away.
type Gate struct {
	Asked chan struct{}
	Open  chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{Asked: make(chan struct{}, 8), Open: make(chan struct{})} }

// Generate returns a model that says words, then waits at the gate.
func (g *Gate) Generate(words ...string) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		for _, word := range words {
			if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: word}}); err != nil {
				return err
			}
		}
		g.Asked <- struct{}{}
		select {
		case <-g.Open:
			return turntest.Say("whole")(req, stream)
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// Shielded returns a world whose agent has shields and an echo tool.
func Shielded(t *testing.T, shields ...string) *World {
	return New(t, &sessionsv1.Agent{Tools: []string{"*"}, Shields: shields}, turntest.Tool("x__echo"))
}

// Reads lists what a model call reads, by role.
func Reads(req *inferencev1.GenerateRequest) string {
	var out []string
	for _, m := range req.GetMessages() {
		out = append(out, strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_"))+":"+Text(m))
	}
	return strings.Join(out, " ")
}

// Texts is a model that says one text after the other, in pieces.
func Texts(all ...string) turntest.Generate {
	n := 0
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		text := all[min(n, len(all)-1)]
		n++
		return turntest.Say(strings.SplitAfter(text, " ")...)(req, stream)
	}
}

// Keys lists the keys of outcomes.
func Keys(all []*turnv1.StepOutcome) string {
	var names []string
	for _, o := range all {
		names = append(names, o.GetKey())
	}
	return strings.Join(names, " ")
}

// LastText is what the model was shown last.
func LastText(req *inferencev1.GenerateRequest) string {
	return Text(req.GetMessages()[len(req.GetMessages())-1])
}

// Guarded is a tool that needs approval for its definition as it is now.
func Guarded(definition *string) turntest.Call {
	return func(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		if a := req.GetApproved(); a.GetArgumentsHash() == "args" && a.GetDefinitionHash() == *definition {
			return turntest.Echo(req, stream)
		}
		required := &registryv1.ApprovalRequired{
			Rule: &policyv1.ApprovalRule{
				Name: "careful", Reason: "it costs", ApproverRoles: []string{"boss"}, ExpiresSeconds: 60, Quorum: 2,
			},
			ArgumentsHash: "args", DefinitionHash: *definition, Void: req.GetApproved() != nil,
		}
		return stream.Send(&registryv1.CallToolResponse{
			Event: &registryv1.CallToolResponse_ApprovalRequired{ApprovalRequired: required},
		})
	}
}

// Said returns a text as the result of a tool.
func Said(text string) *turnv1.ToolResult {
	return &turnv1.ToolResult{Content: executiontest.Text(text)}
}

// Waiting is a world whose turn waits at its only tool call.
func Waiting(t *testing.T, agent *sessionsv1.Agent, tool turntest.Call) *World {
	t.Helper()
	agent.Tools = []string{"*"}
	w := New(t, agent, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	w.Tool(tool)
	w.MustWait(1)
	return w
}

// AtTool is a world whose next step is a tool call.
func AtTool(t *testing.T, tool string) (*World, *turnv1.StepRef) {
	t.Helper()
	w := New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools(tool, 1))
	return w, w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
}
