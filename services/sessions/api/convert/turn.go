package convert

import (
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/pending"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// TurnToProto converts a turn with what it was given and what it belongs to.
func TurnToProto(v turn.View) *sessionsv1.Turn {
	t := v.Turn
	return &sessionsv1.Turn{
		Id: t.ID, SessionId: t.SessionID, AgentId: t.AgentID, Status: t.Status, Input: v.Input.Input, Usage: Usage(t),
		Model: t.Model, BlueprintRevision: t.BlueprintRevision, Subject: t.Subject, FirstSeq: t.FirstSeq, LastSeq: t.LastSeq,
		CreateTime: timestamp.Of(t.CreateTime), StartTime: timestamp.Of(t.StartTime), EndTime: timestamp.Of(t.EndTime),
		Output: t.End.GetOutput(), StopReason: t.End.GetStopReason(), ToolsUsed: t.End.GetToolsUsed(), Error: t.End.GetError(),
		LimitReached: t.End.GetLimitReached(), ScheduleId: v.Input.ScheduleID, RerunOf: v.Input.Rerun.GetOfTurn(),
		RequestedModel: v.Input.Model, Limits: LimitsToProto(v.Input.Limits),
		ParentTurnId: v.Link.ParentTurnID, ParentSessionId: v.Link.ParentSessionID, RootTurnId: v.Link.RootTurnID,
	}
}

// TurnsToProto converts turns.
func TurnsToProto(views []turn.View) []*sessionsv1.Turn {
	var out []*sessionsv1.Turn
	for _, v := range views {
		out = append(out, TurnToProto(v))
	}
	return out
}

// ComparedTurn converts a turn for a comparison.
func ComparedTurn(v turn.View) *sessionsv1.ComparedTurn {
	t := TurnToProto(v)
	out := &sessionsv1.ComparedTurn{
		TurnId: t.GetId(), SessionId: t.GetSessionId(), AgentId: t.GetAgentId(), BlueprintRevision: t.GetBlueprintRevision(), Model: t.GetModel(),
		Status: t.GetStatus(), StopReason: t.GetStopReason(), Usage: t.GetUsage(), RerunOf: t.GetRerunOf(),
	}
	if !v.StartTime.IsZero() && !v.EndTime.IsZero() {
		out.DurationMs = v.EndTime.Sub(v.StartTime).Milliseconds()
	}
	return out
}

// SessionToProto converts a session.
func SessionToProto(s store.Session) (*sessionsv1.Session, error) {
	params, err := blueprint.SessionParams(s)
	return &sessionsv1.Session{
		Id: s.ID, AgentId: s.AgentID, Title: s.Title, Subject: s.Subject, Labels: s.Labels, LastSeq: s.LastSeq,
		ActiveTurnId: s.ActiveTurnID, CreateTime: timestamp.Of(s.CreateTime), UpdateTime: timestamp.Of(s.UpdateTime),
		ForkedFromSession: s.ForkedFrom, ForkedFromSeq: s.ForkedSeq, Params: params,
		ParentSessionId: s.ParentSession, ParentTurnId: s.ParentTurn,
		Pinned: s.Pinned, Archived: s.Archived, Banks: s.Banks,
	}, err
}

// Usage is what a turn has used, never nil.
func Usage(t store.Turn) *turnv1.Usage {
	if t.Usage == nil {
		return &turnv1.Usage{}
	}
	return t.Usage
}

// ClientTools converts the tools that a client runs.
func ClientTools(tools []*sessionsv1.ClientTool) []*store.ClientTool {
	var out []*store.ClientTool
	for _, t := range tools {
		out = append(out, &store.ClientTool{Name: t.GetName(), Description: t.GetDescription(), InputSchema: t.GetInputSchema()})
	}
	return out
}

// PendingToProto converts the reason why a turn does not continue.
func PendingToProto(p pending.Reason) *sessionsv1.Pending {
	reason := map[pending.Kind]sessionsv1.PendingReason{
		pending.PrecedingTurn: sessionsv1.PendingReason_PENDING_REASON_PRECEDING_TURN,
		pending.Worker:        sessionsv1.PendingReason_PENDING_REASON_WORKER,
		pending.Mesh:          sessionsv1.PendingReason_PENDING_REASON_MESH,
	}[p.Kind]
	if p.Kind == pending.None {
		return nil
	}
	return &sessionsv1.Pending{Reason: reason, PrecedingTurnId: p.TurnID, Detail: p.Detail, Action: p.Action}
}
