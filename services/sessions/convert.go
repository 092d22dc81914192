package sessions

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func turnStatus(t store.Turn) turnv1.TurnStatus { return turnv1.TurnStatus(t.Status) }

func ended(t store.Turn) bool { return t.EndUs != 0 }

// waiting tells whether a turn waits for people.
func waiting(t store.Turn) bool {
	return turnv1.TurnStatus(t.Status) == turnv1.TurnStatus_TURN_STATUS_WAITING
}

func turnToProto(t store.Turn, input string) (*sessionsv1.Turn, error) {
	usage, err := usageOf(t)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.Turn{
		Id: t.ID, SessionId: t.SessionID, AgentId: t.AgentID, Status: enum.Name(turnStatus(t)), Input: input, Usage: usage,
		Model: t.Model, BlueprintRevision: t.BlueprintRevision, Subject: t.Subject, FirstSeq: t.FirstSeq, LastSeq: t.LastSeq,
		CreateTime: timestamp.OfMicros(t.CreateUs), StartTime: timestamp.OfMicros(t.StartUs), EndTime: timestamp.OfMicros(t.EndUs),
	}
	if !ended(t) {
		return out, nil
	}
	end := &turnv1.TurnEnded{}
	if err := proto.Unmarshal(t.End, end); err != nil {
		return nil, fmt.Errorf("end of turn %s: %w", t.ID, err)
	}
	out.Output, out.StopReason, out.ToolsUsed, out.Error = end.GetOutput(), end.GetStopReason(), end.GetToolsUsed(), end.GetError()
	out.LimitReached = end.GetLimitReached()
	return out, nil
}

// turnWithInput is a turn with what its caller gave.
func turnWithInput(t store.Turn, in store.TurnInput) (*sessionsv1.Turn, error) {
	out, err := turnToProto(t, in.Input)
	if err != nil {
		return nil, err
	}
	out.ScheduleId = in.ScheduleID
	rerun, err := rerunOf(in)
	if err != nil {
		return nil, err
	}
	out.RerunOf = rerun.GetOfTurn()
	out.Limits, err = storedLimits(in.Limits)
	return out, err
}

func usageOf(t store.Turn) (*turnv1.Usage, error) {
	usage := &turnv1.Usage{}
	if err := proto.Unmarshal(t.Usage, usage); err != nil {
		return nil, fmt.Errorf("usage of turn %s: %w", t.ID, err)
	}
	return usage, nil
}

func sessionToProto(s store.Session) (*sessionsv1.Session, error) {
	params, err := blueprint.SessionParams(s)
	return &sessionsv1.Session{
		Id: s.ID, AgentId: s.AgentID, Title: s.Title, Subject: s.Subject, Labels: s.Labels, LastSeq: s.LastSeq,
		ActiveTurnId: s.ActiveTurnID, CreateTime: timestamp.OfMicros(s.CreateUs), UpdateTime: timestamp.OfMicros(s.UpdateUs),
		ForkedFromSession: s.ForkedFrom, ForkedFromSeq: s.ForkedSeq, Params: params,
		ParentSessionId: s.ParentSession, ParentTurnId: s.ParentTurn,
	}, err
}
