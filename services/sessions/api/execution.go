package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// ExecutionDeps are what Execution needs; all are required.
type ExecutionDeps struct {
	Access        access.Reader
	Steps         *step.Service
	Turns         *turn.Service
	Waits         *wait.Service
	Children      *child.Service
	Conversations *conversation.Service
	Reruns        *rerun.Service
	Schedules     *schedule.Service
	Budgets       *budget.Service
	Artifacts     *artifact.Service
	// Now is the database's time.
	Now func() time.Time
}

// Execution implements ExecutionService.
type Execution struct {
	executionv1.UnimplementedExecutionServiceServer
	deps ExecutionDeps
}

// NewExecution serves the execution of turns to workers.
func NewExecution(deps ExecutionDeps) *Execution { return &Execution{deps: deps} }

// now returns the database's time.
func (s *Execution) now() *timestamppb.Timestamp { return timestamp.Of(s.deps.Now()) }

// LoadTurn implements ExecutionService.
func (s *Execution) LoadTurn(ctx context.Context, req *executionv1.LoadTurnRequest) (*executionv1.LoadTurnResponse, error) {
	l, err := s.deps.Steps.Load(ctx, req.GetTurnId(), req.GetWithContext())
	if err != nil {
		return nil, err
	}
	out := convert.LoadedToProto(l)
	if contract.Hosted(out.GetAgent()) { // an executor is identified by its texts with their placeholders resolved
		hash := contract.ExecutorHash(out.GetAgent().GetExecutor())
		if out.ExecutorSessionId, err = s.deps.Steps.ExecutorSession(ctx, l.Turn, hash); err != nil {
			return nil, err
		}
	}
	out.CurrentTime = s.now()
	return out, nil
}

// ClaimStep implements ExecutionService.
func (s *Execution) ClaimStep(ctx context.Context, req *executionv1.ClaimStepRequest) (*executionv1.ClaimStepResponse, error) {
	got, err := s.deps.Steps.Claim(ctx, convert.Claim(req))
	if err != nil {
		return nil, err
	}
	out := convert.ClaimedToProto(got)
	out.CurrentTime = s.now()
	return out, nil
}

// RenewStep implements ExecutionService.
func (s *Execution) RenewStep(ctx context.Context, req *executionv1.RenewStepRequest) (*executionv1.RenewStepResponse, error) {
	held := step.Held{TurnID: req.GetTurnId(), Step: req.GetStep(), Fence: req.GetFence()}
	cancelled, err := s.deps.Steps.Renew(ctx, held, req.GetTtl().AsDuration())
	if err != nil {
		return nil, err
	}
	return &executionv1.RenewStepResponse{CancelRequested: cancelled, CurrentTime: s.now()}, nil
}

// CommitStep implements ExecutionService.
func (s *Execution) CommitStep(ctx context.Context, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	got, err := s.deps.Steps.Commit(ctx, *convert.Commit(req))
	if err != nil {
		return nil, err
	}
	return convert.CommittedToProto(got), nil
}

// AppendEvents implements ExecutionService.
func (s *Execution) AppendEvents(ctx context.Context, req *executionv1.AppendEventsRequest) (*executionv1.AppendEventsResponse, error) {
	held := step.Held{TurnID: req.GetTurnId(), Step: req.GetStep(), Fence: req.GetFence()}
	last, err := s.deps.Steps.Append(ctx, held, req.GetEvents())
	if err != nil {
		return nil, err
	}
	return &executionv1.AppendEventsResponse{LastSeq: last}, nil
}

// ReleaseStep implements ExecutionService.
func (s *Execution) ReleaseStep(ctx context.Context, req *executionv1.ReleaseStepRequest) (*executionv1.ReleaseStepResponse, error) {
	held := step.Held{TurnID: req.GetTurnId(), Step: req.GetStep(), Fence: req.GetFence()}
	if err := s.deps.Steps.Release(ctx, held, req.GetBackoff().AsDuration(), req.GetModelAttempts()); err != nil {
		return nil, err
	}
	return &executionv1.ReleaseStepResponse{}, nil
}

// GetOutcomes implements ExecutionService.
func (s *Execution) GetOutcomes(ctx context.Context, req *executionv1.GetOutcomesRequest) (*executionv1.GetOutcomesResponse, error) {
	got, err := s.deps.Steps.Outcomes(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	out := &executionv1.GetOutcomesResponse{Outcomes: got.Done, Held: map[string]*executionv1.Busy{}, Ended: got.Ended, CurrentTime: s.now()}
	for key, b := range got.Held {
		out.Held[key] = convert.BusyToProto(b)
	}
	return out, nil
}

// RequestCancel implements ExecutionService.
func (s *Execution) RequestCancel(ctx context.Context, req *executionv1.RequestCancelRequest) (*executionv1.RequestCancelResponse, error) {
	t, _, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	if err := s.deps.Turns.Cancel(ctx, t, req.GetReason()); err != nil {
		return nil, err
	}
	return &executionv1.RequestCancelResponse{}, nil
}

// GetContext implements ExecutionService.
func (s *Execution) GetContext(ctx context.Context, req *executionv1.GetContextRequest) (*executionv1.GetContextResponse, error) {
	t, ses, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	w, err := s.deps.Conversations.Window(ctx, t, ses, int(req.GetMaxBytes()))
	if err != nil {
		return nil, err
	}
	return convert.WindowToProto(&w), nil
}

// GetToolCall implements ExecutionService.
func (s *Execution) GetToolCall(ctx context.Context, req *executionv1.GetToolCallRequest) (*turnv1.ToolCall, error) {
	return s.deps.Steps.ToolCall(ctx, req.GetTurnId(), req.GetMessageId(), req.GetCallId())
}

// GetRecording implements ExecutionService.
func (s *Execution) GetRecording(ctx context.Context, req *executionv1.GetRecordingRequest) (*executionv1.GetRecordingResponse, error) {
	t, ses, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	result, err := s.deps.Reruns.Recording(ctx, t, ses, req.GetMessageId(), req.GetCallId())
	if err != nil {
		return nil, err
	}
	return &executionv1.GetRecordingResponse{Result: result}, nil
}

// CreateChild implements ExecutionService.
func (s *Execution) CreateChild(ctx context.Context, req *executionv1.CreateChildRequest) (*executionv1.CreateChildResponse, error) {
	c, err := s.deps.Children.Create(ctx, child.Create{
		ParentID: req.GetTurnId(), Step: req.GetStep(), Fence: req.GetFence(), CallID: req.GetCallId(), AgentID: req.GetAgentId(),
		Input: req.GetInput(), Params: req.GetParams(), Background: req.GetBackground(), Tainted: req.GetTainted(),
	})
	if err != nil {
		return nil, err
	}
	return &executionv1.CreateChildResponse{SessionId: c.SessionID, TurnId: c.TurnID}, nil
}

// GetWait implements ExecutionService.
func (s *Execution) GetWait(ctx context.Context, req *executionv1.GetWaitRequest) (*executionv1.Wait, error) {
	t, _, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	w, err := s.deps.Waits.Get(ctx, t.Tenant, req.GetWaitId())
	if err == nil && w.TurnID != t.ID {
		err = wait.NotFound(req.GetWaitId())
	}
	if err != nil {
		return nil, err
	}
	return convert.WaitToProto(w), nil
}

// ExpireWaits implements ExecutionService.
func (s *Execution) ExpireWaits(ctx context.Context, req *executionv1.ExpireWaitsRequest) (*executionv1.ExpireWaitsResponse, error) {
	t, _, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	if err := s.deps.Waits.Expire(ctx, t); err != nil {
		return nil, turn.Fault(err, t.ID)
	}
	return &executionv1.ExpireWaitsResponse{}, nil
}

// ResolveAuthorizations implements ExecutionService.
func (s *Execution) ResolveAuthorizations(
	ctx context.Context, req *executionv1.ResolveAuthorizationsRequest,
) (*executionv1.ResolveAuthorizationsResponse, error) {
	n, err := s.deps.Waits.Authorized(ctx, req.GetTenant(), req.GetSubject(), req.GetKind(), req.GetSource())
	if err != nil {
		return nil, err
	}
	return &executionv1.ResolveAuthorizationsResponse{Resolved: uint32(n)}, nil
}

// GetQuotaUse implements ExecutionService.
func (s *Execution) GetQuotaUse(ctx context.Context, req *executionv1.GetQuotaUseRequest) (*executionv1.GetQuotaUseResponse, error) {
	all, err := s.deps.Budgets.QuotaUse(ctx, req.GetTenant(), "")
	if err != nil {
		return nil, err
	}
	one, err := s.deps.Budgets.QuotaUse(ctx, req.GetTenant(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	return &executionv1.GetQuotaUseResponse{
		Tenant: &executionv1.QuotaTurns{Turns: all.Turns, Tokens: all.Tokens},
		User:   &executionv1.QuotaTurns{Turns: one.Turns, Tokens: one.Tokens},
	}, nil
}

// FireSchedule implements ExecutionService.
func (s *Execution) FireSchedule(ctx context.Context, req *executionv1.FireScheduleRequest) (*executionv1.FireScheduleResponse, error) {
	f, err := s.deps.Schedules.Fire(ctx, req.GetTenant(), req.GetScheduleId(), req.GetDueTime().AsTime())
	if err != nil {
		return nil, err
	}
	return &executionv1.FireScheduleResponse{Outcome: enum.Parse[sessionsv1.FireOutcome](string(f.Outcome)), TurnId: f.TurnID}, nil
}

// ReadTurnFile implements ExecutionService.
func (s *Execution) ReadTurnFile(ctx context.Context, req *executionv1.ReadTurnFileRequest) (*executionv1.ReadTurnFileResponse, error) {
	t, _, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	_, data, err := s.deps.Artifacts.Read(ctx, req.GetFileId(), t.SessionID, req.GetOffset(), req.GetLength())
	if err != nil {
		return nil, err
	}
	return &executionv1.ReadTurnFileResponse{Data: data}, nil
}
