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

// AsRetry returns the RetryError that an error wraps, nil if it wraps none.
func AsRetry(err error) *step.RetryError {
	retry, _ := errors.AsType[*step.RetryError](err)
	return retry
}

// Gate holds back the answers of a model: Asked receives a value for each model call, and closing Open lets the calls be answered.
type Gate struct {
	Asked chan struct{}
	Open  chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{Asked: make(chan struct{}, 8), Open: make(chan struct{})} }

// Generate returns a model that sends the words as deltas and waits for Open. It then answers "whole".
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

// Shielded returns a world whose agent has these shields and the tool x__echo.
func Shielded(t *testing.T, shields ...string) *World {
	return New(t, &sessionsv1.Agent{Tools: []string{"*"}, Shields: shields}, turntest.Tool("x__echo"))
}

// Reads renders the messages of a model call, each as ROLE:TEXT.
func Reads(req *inferencev1.GenerateRequest) string {
	var out []string
	for _, m := range req.GetMessages() {
		out = append(out, strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_"))+":"+Text(m))
	}
	return strings.Join(out, " ")
}

// Texts returns a model that answers each call with the next text, word by word. The last text is repeated.
func Texts(all ...string) turntest.Generate {
	n := 0
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		text := all[min(n, len(all)-1)]
		n++
		return turntest.Say(strings.SplitAfter(text, " ")...)(req, stream)
	}
}

// Keys returns the keys of outcomes, separated by spaces.
func Keys(all []*turnv1.StepOutcome) string {
	var names []string
	for _, o := range all {
		names = append(names, o.GetKey())
	}
	return strings.Join(names, " ")
}

// LastText returns the text of the last message of a model call.
func LastText(req *inferencev1.GenerateRequest) string {
	return Text(req.GetMessages()[len(req.GetMessages())-1])
}

// Guarded returns a tool that returns its arguments once a call was approved for the current definition, and requires approval before.
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

// Said returns a tool result with a text.
func Said(text string) *turnv1.ToolResult {
	return &turnv1.ToolResult{Content: executiontest.Text(text)}
}

// Waiting returns a world whose turn waits in its only tool call.
func Waiting(t *testing.T, agent *sessionsv1.Agent, tool turntest.Call) *World {
	t.Helper()
	agent.Tools = []string{"*"}
	w := New(t, agent, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	w.Tool(tool)
	w.MustWait(1)
	return w
}

// AtTool returns a world whose next step is a tool call, and that step.
func AtTool(t *testing.T, tool string) (*World, *turnv1.StepRef) {
	t.Helper()
	w := New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools(tool, 1))
	return w, w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
}
