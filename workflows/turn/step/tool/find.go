package tool

import (
	"context"
	"fmt"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/toolsearch"
)

// foundAtOnce is the number of tools to ask for. Not all of them need be pinned by the turn, which has those that there were at its begin.
const foundAtOnce = 100

// searches reports whether the call is one of the tools with which a model finds and calls tools.
func (t *tool) searches() bool {
	name := t.call.GetTool()
	return (name == toolsearch.Find || name == toolsearch.Call) && t.Pinned.Searches(t.Loaded)
}

// find is the round of a search. It only reads, so it has no row in the ledger, and a repeated one is simply made again.
func (t *tool) find(ctx context.Context) (round, error) {
	if t.call.GetTool() == toolsearch.Call { // one that names a tool is a call of that tool
		return round{completed: refused(t.call, codeArguments, "Give the name of a tool, and its arguments as an object.")}, nil
	}
	query, ok := toolsearch.Read(t.call.GetArgumentsJson())
	if !ok {
		return round{completed: refused(t.call, codeArguments, "The arguments are not as the tool wants them: give a query of a few words.")}, nil
	}
	found, err := t.Registry.FindTools(ctx, &registryv1.FindToolsRequest{
		Principal: t.Loaded.GetPrincipal(), Globs: t.Loaded.GetAgent().GetTools(), Query: query.Text, Limit: foundAtOnce,
	})
	if err != nil {
		return round{}, fmt.Errorf("find tools: %w", err)
	}
	tools, err := t.Pinned.Named(ctx, t.Loaded, found.GetNames(), query.Limit)
	if err != nil {
		return round{}, err
	}
	return round{completed: &registryv1.Completed{Result: &turnv1.ToolResult{
		CallId: t.call.GetCallId(), Tool: t.call.GetTool(), Trusted: true,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: toolsearch.Found(tools)}}},
	}}}, nil
}
