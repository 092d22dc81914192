package convert

import (
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// LoadedToProto converts what a turn starts from.
func LoadedToProto(l *step.Loaded) *executionv1.LoadTurnResponse {
	out := &executionv1.LoadTurnResponse{
		Turn: TurnToProto(turn.View{Turn: l.Turn, Input: l.Input}), Agent: AgentToProto(l.Agent), Principal: l.Input.Principal,
		Surface:         l.Surface,
		CancelRequested: l.Turn.CancelRequested, Outcomes: l.Outcomes, Params: l.Params,
		ContextBytes: l.Session.ContextBytes, Rerun: l.Input.Rerun, ExecutorSealed: l.ExecutorSealed, Context: WindowToProto(l.Context),
		MayRunAhead: l.MayRunAhead, ModelChosen: l.ModelChosen,
	}
	for _, t := range l.Tools {
		out.Tools = append(out.Tools, &executionv1.PinnedTool{
			Name: t.GetName(), DefinitionHash: t.GetDefinitionHash(), WithArtifacts: t.GetWithArtifacts(),
		})
	}
	for _, t := range l.Input.ClientTools {
		out.ClientTools = append(out.ClientTools, &sessionsv1.ClientTool{
			Name: t.GetName(), Description: t.GetDescription(), InputSchema: t.GetInputSchema(),
		})
	}
	for _, t := range l.Agents {
		out.AgentTools = append(out.AgentTools, &executionv1.AgentTool{
			Name: t.GetName(), AgentId: t.GetAgentId(), Description: t.GetDescription(), InputSchemaJson: t.GetInputSchemaJson(),
			DefinitionHash: t.GetDefinitionHash(),
		})
	}
	if l.Unresolved != nil {
		out.Unresolved = &turnv1.TurnError{Code: fault.CodeName(l.Unresolved.Reason), Message: l.Unresolved.Text()}
	}
	if l.Turn.AgentPath != "" {
		out.AgentPath = strings.Split(l.Turn.AgentPath, "/")
	}
	return out
}

// WindowToProto converts what a model step reads, nil for nil.
func WindowToProto(w *conversation.Window) *executionv1.GetContextResponse {
	if w == nil {
		return nil
	}
	return &executionv1.GetContextResponse{Messages: w.Messages, Truncated: w.Truncated, Inputs: w.Inputs, Compacted: w.Compacted}
}

// Claim converts a claim.
func Claim(req *executionv1.ClaimStepRequest) step.Claim {
	return step.Claim{
		TurnID: req.GetTurnId(), Step: req.GetStep(), Owner: req.GetOwner(), TTL: req.GetTtl().AsDuration(),
		Model: req.GetModel(), ToolCall: req.GetToolCall(),
	}
}

// ClaimedToProto converts the result of a claim.
func ClaimedToProto(c step.Claimed) *executionv1.ClaimStepResponse {
	out := &executionv1.ClaimStepResponse{CancelRequested: c.CancelRequested}
	switch {
	case c.Done != nil:
		out.Result = &executionv1.ClaimStepResponse_Done{Done: c.Done}
	case c.Lease != nil:
		out.Result = &executionv1.ClaimStepResponse_Lease{Lease: &executionv1.Lease{
			Fence: c.Lease.Fence, Attempt: c.Lease.Attempt, BaseSeq: c.Lease.BaseSeq, MessageId: c.Lease.MessageID,
			MaxOutputTokens: c.Lease.MaxOutputTokens, ProviderData: c.Lease.ProviderData,
			ModelAttempts: c.Lease.ModelAttempts,
		}}
	case c.Busy != nil:
		out.Result = &executionv1.ClaimStepResponse_Busy{Busy: BusyToProto(c.Busy)}
	}
	return out
}

// BusyToProto converts why a step cannot be claimed, nil for nil.
func BusyToProto(b *step.Busy) *executionv1.Busy {
	if b == nil {
		return nil
	}
	return &executionv1.Busy{Owner: b.Owner, ExpiresIn: durationpb.New(b.ExpiresIn), BudgetId: b.BudgetID}
}

// Commit converts a commit, nil for nil.
func Commit(req *executionv1.CommitStepRequest) *step.Commit {
	if req == nil {
		return nil
	}
	out := &step.Commit{
		TurnID: req.GetTurnId(), Fence: req.GetFence(), Outcome: req.GetOutcome(), Events: req.GetEvents(), Messages: req.GetMessages(),
		Duration: req.GetDuration().AsDuration(), Ending: req.GetEnding(), Inputs: req.GetInputs(),
		Wait: waitRequest(req.GetWait()),
		Then: Commit(req.GetThen()),
	}
	for _, a := range req.GetArtifacts() {
		out.Artifacts = append(out.Artifacts, artifact.New{
			ID: a.GetId(), CallID: a.GetCallId(), Name: a.GetName(), MediaType: a.GetMediaType(), Data: a.GetData(),
		})
	}
	for _, t := range req.GetTools() {
		out.Tools = append(out.Tools, &store.PinnedTool{
			Name: t.GetName(), DefinitionHash: t.GetDefinitionHash(), WithArtifacts: t.GetWithArtifacts(),
		})
	}
	for _, t := range req.GetAgentTools() {
		out.Agents = append(out.Agents, &store.AgentTool{
			Name: t.GetName(), AgentId: t.GetAgentId(), Description: t.GetDescription(), InputSchemaJson: t.GetInputSchemaJson(),
			DefinitionHash: t.GetDefinitionHash(),
		})
	}
	if req.GetClaim() != nil {
		claim := Claim(req.GetClaim())
		out.Claim = &claim
	}
	for _, next := range req.GetNext() {
		out.Next = append(out.Next, Claim(next))
	}
	return out
}

// CommittedToProto converts the result of a commit, nil for nil.
func CommittedToProto(c *step.Committed) *executionv1.CommitStepResponse {
	if c == nil {
		return nil
	}
	out := &executionv1.CommitStepResponse{
		Outcome: c.Outcome, NextTurnId: c.NextTurnID, Adopted: c.Adopted, Busy: BusyToProto(c.Busy), Then: CommittedToProto(c.Then),
		Inputs: c.Inputs, Stale: c.Stale,
	}
	for _, next := range c.Next {
		out.Next = append(out.Next, ClaimedToProto(next))
	}
	return out
}
