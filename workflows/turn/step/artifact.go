package step

import (
	"slices"

	"github.com/windlass-dev/windlass/libs/glob"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// aside takes the reader of artifacts out of the tools, unless the agent has it as a tool of its own: it is shown when there is something to
// read. It is nil when the user may not use it.
func aside(agent *sessionsv1.Agent, tools []*registryv1.Tool) ([]*registryv1.Tool, *sessionsv1.PinnedTool) {
	i := slices.IndexFunc(tools, func(t *registryv1.Tool) bool { return t.GetName() == contract.ReadArtifact })
	if i < 0 || glob.Any(agent.GetTools(), contract.ReadArtifact) {
		return tools, nil
	}
	reader := &sessionsv1.PinnedTool{Name: tools[i].GetName(), DefinitionHash: tools[i].GetDefinitionHash(), WithArtifacts: true}
	return slices.Delete(slices.Clone(tools), i, i+1), reader
}

// calledFor are the pinned tools that a conversation calls for.
func calledFor(pinned []*sessionsv1.PinnedTool, conversation []*turnv1.Message) []*sessionsv1.PinnedTool {
	i := slices.IndexFunc(pinned, (*sessionsv1.PinnedTool).GetWithArtifacts)
	if i < 0 || slices.ContainsFunc(conversation, func(m *turnv1.Message) bool { return len(m.GetToolResult().GetArtifactIds()) > 0 }) {
		return pinned
	}
	return slices.Delete(slices.Clone(pinned), i, i+1)
}

// artifacts are what a call's result was too long for, to be kept with the session.
func artifacts(w *work, c *registryv1.Completed) []*sessionsv1.NewArtifact {
	var out []*sessionsv1.NewArtifact
	for _, whole := range c.GetWholes() {
		out = append(out, &sessionsv1.NewArtifact{
			Id: whole.GetArtifactId(), Name: whole.GetName(), MediaType: whole.GetMediaType(), Data: whole.GetData(), CallId: w.call.GetCallId(),
		})
	}
	return out
}
