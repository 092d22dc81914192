package mcp

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/mcp/orchestrator"
	"github.com/windlass-dev/windlass/libs/fault"
)

// agentTools returns the tools with which a client runs agents.
func agentTools() map[string]any {
	list := []tool{}
	for _, t := range orchestrator.Tools() {
		list = append(list, tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Input: t.Input,
			Annotations: annotations{ReadOnly: t.ReadOnly, Idempotent: t.Idempotent},
		})
	}
	return map[string]any{"tools": list}
}

// callAgentTool calls one of them.
func (c *calls) callAgentTool(q *request, arguments json.RawMessage) (any, *failure) {
	known := false
	for _, t := range orchestrator.Tools() {
		known = known || t.Name == q.common.Name
	}
	if !known {
		return nil, noTool(q.common.Name)
	}
	result, err := c.agents.Run(q.ctx, q.common.Name, orchestrator.Call{
		Arguments: arguments, Key: q.common.Meta.Key, Caller: q.header.Get(orchestrator.SessionHeader),
		Runner: q.header.Get(orchestrator.RunnerHeader),
	})
	if err != nil {
		return failedAgentTool(err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, failureOf(fmt.Errorf("result of %s: %w", q.common.Name, err))
	}
	return map[string]any{
		"content":           []any{map[string]any{"type": "text", "text": string(text)}},
		"structuredContent": json.RawMessage(text), "isError": false,
	}, nil
}

// failedAgentTool returns what a model can mend as a result, and anything else as an error.
func failedAgentTool(err error) (any, *failure) {
	switch f := fault.From(err); f.Code {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.AlreadyExists, codes.ResourceExhausted:
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": f.Text()}}, "isError": true}, nil
	default:
		return nil, failureOf(err)
	}
}
