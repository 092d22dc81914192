package api

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/truncate"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/pending"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// TurnDeps are what Turns needs; all are required.
type TurnDeps struct {
	Access    access.Reader
	Turns     *turn.Service
	Children  *child.Service
	Reruns    *rerun.Service
	Approvals *approval.Service
	Watcher   *Watcher
	Engine    pending.Engine
	Contexts  *Contexts
	// Now is the clock of the tables.
	Now func() time.Time
}

// Turns implements TurnService.
type Turns struct {
	sessionsv1.UnimplementedTurnServiceServer
	deps TurnDeps
}

// NewTurns serves turns.
func NewTurns(deps TurnDeps) *Turns { return &Turns{deps: deps} }

// CreateTurn implements TurnService.
func (s *Turns) CreateTurn(ctx context.Context, req *sessionsv1.CreateTurnRequest) (*sessionsv1.Turn, error) {
	once, err := idempotency.OfRequest(ctx, "create_turn", req)
	if err != nil {
		return nil, err
	}
	return answerTurn(s.deps.Turns.Create(ctx, turn.Create{
		SessionID: req.GetSessionId(), Text: req.GetInput(), Content: req.GetContent(), Mode: turn.Mode(req.GetMode()),
		Tools: convert.ClientTools(req.GetTools()), Limits: convert.LimitsFromProto(req.GetLimits()), WebhookURL: req.GetWebhookUrl(), Once: once,
		OutputSchema: req.GetOutputSchema(), WithoutMemory: req.GetWithoutMemory(), Model: req.GetModel(),
	}))
}

// RerunTurn implements TurnService.
func (s *Turns) RerunTurn(ctx context.Context, req *sessionsv1.RerunTurnRequest) (*sessionsv1.Turn, error) {
	once, err := idempotency.OfRequest(ctx, "rerun_turn", req)
	if err != nil {
		return nil, err
	}
	return answerTurn(s.deps.Turns.Rerun(ctx, rerun.Request{
		TurnID: req.GetTurnId(), AgentID: req.GetAgentId(), Params: req.GetParams(), FromStep: req.GetFromStep(), Tools: req.GetTools(),
		Missing: req.GetMissing(), Model: req.GetModel(),
	}, convert.LimitsFromProto(req.GetLimits()), once))
}

// GetTurn implements TurnService.
func (s *Turns) GetTurn(ctx context.Context, req *sessionsv1.GetTurnRequest) (*sessionsv1.Turn, error) {
	t, ses, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	if wait := req.GetWait().AsDuration(); wait > 0 && !t.Ended() {
		if err := s.deps.Watcher.awaitEnd(ctx, t, wait); err != nil {
			return nil, err
		}
	} else if t.Ended() {
		return s.ended(ctx, t)
	}
	out, v, err := s.current(ctx, t.Tenant, t.ID)
	if err == nil && v.Ended() {
		return s.ended(ctx, v.Turn)
	}
	if err == nil {
		out.Pending = convert.PendingToProto(pending.Of(ctx, s.deps.Engine, s.deps.Now(), v.Turn, ses))
	}
	return out, err
}

// ended returns a turn that has ended, with what it cites.
func (s *Turns) ended(ctx context.Context, t store.Turn) (*sessionsv1.Turn, error) {
	out, err := answerTurn(s.deps.Turns.View(ctx, t))
	if err == nil {
		out.Citations, err = s.deps.Turns.Citations(ctx, t)
	}
	return out, err
}

// current reads a turn as it is now, with what it waits for.
func (s *Turns) current(ctx context.Context, tenant, id string) (*sessionsv1.Turn, turn.View, error) {
	v, err := s.deps.Turns.Read(ctx, tenant, id)
	if err != nil {
		return nil, turn.View{}, err
	}
	out := convert.TurnToProto(v)
	out.WaitingFor, err = s.deps.Children.WaitingFor(ctx, v.Turn)
	return out, v, err
}

// ListTurns implements TurnService.
func (s *Turns) ListTurns(ctx context.Context, req *sessionsv1.ListTurnsRequest) (*sessionsv1.ListTurnsResponse, error) {
	bounds, err := newTurnBounds(req)
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("turns|%s|%s|%s|%s|%q", req.GetSessionId(), access.Owner(ctx), enum.Name(req.GetStatus()), req.GetAgentId(),
		req.GetLabel())
	if req.GetQ() != "" {
		list += fmt.Sprintf("|%q", req.GetQ())
	}
	list, at, err := timePage(list, bounds)
	if err != nil {
		return nil, err
	}
	rows, err := s.deps.Turns.List(ctx, turn.Filter{
		SessionID: req.GetSessionId(), AgentID: req.GetAgentId(), Status: req.GetStatus(), Labels: req.GetLabel(), Query: req.GetQ(), Page: at,
	})
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, at.Limit-1, list, func(t store.Turn) any { return afterTurn(at, t) })
	views, err := s.deps.Turns.Views(ctx, authn.Tenant(ctx), rows)
	turns := convert.TurnsToProto(views)
	if req.GetView() != sessionsv1.TurnView_TURN_VIEW_FULL {
		for _, t := range turns {
			t.Input, t.Output = truncate.Chars(t.GetInput(), basicText), truncate.Chars(t.GetOutput(), basicText)
		}
	}
	return &sessionsv1.ListTurnsResponse{Turns: turns, NextPageToken: next}, err
}

// basicText is how many characters of an input or output the basic view shows.
const basicText = 200

// CancelTurn implements TurnService.
func (s *Turns) CancelTurn(ctx context.Context, req *sessionsv1.CancelTurnRequest) (*sessionsv1.Turn, error) {
	t, _, err := s.deps.Access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	if err := s.deps.Turns.Cancel(ctx, t, req.GetReason()); err != nil {
		return nil, err
	}
	return answerTurn(s.deps.Turns.Read(ctx, t.Tenant, t.ID))
}

// SteerTurn implements TurnService.
func (s *Turns) SteerTurn(ctx context.Context, req *sessionsv1.SteerTurnRequest) (*sessionsv1.SteerTurnResponse, error) {
	once, err := idempotency.OfRequest(ctx, "steer_turn", req)
	if err != nil {
		return nil, err
	}
	got, err := s.deps.Turns.Steer(ctx, req.GetTurnId(), req.GetInput(), req.GetContent(), once)
	if err != nil {
		return nil, err
	}
	return &sessionsv1.SteerTurnResponse{TurnId: got.TurnID, MessageId: got.MessageID, Seq: got.Seq}, nil
}

// GetTurnTree implements TurnService.
func (s *Turns) GetTurnTree(ctx context.Context, req *sessionsv1.GetTurnTreeRequest) (*sessionsv1.TurnTree, error) {
	tree, err := s.deps.Children.Tree(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	return treeToProto(tree), nil
}

func treeToProto(tree child.Tree) *sessionsv1.TurnTree {
	out := &sessionsv1.TurnTree{
		Turn: convert.TurnToProto(tree.View), CallId: tree.CallID, Background: tree.Background, TotalUsage: tree.Total,
	}
	for _, c := range tree.Children {
		out.Children = append(out.Children, treeToProto(c))
	}
	return out
}

// resolutions are the outcomes that a caller can give a call.
var resolutions = map[string]turnv1.Verdict{
	"done":     turnv1.Verdict_VERDICT_ANSWERED,
	"not_done": turnv1.Verdict_VERDICT_NOT_DONE,
	"give_up":  turnv1.Verdict_VERDICT_GIVEN_UP,
}

// ResolveToolCall implements TurnService.
func (s *Turns) ResolveToolCall(ctx context.Context, req *sessionsv1.ResolveToolCallRequest) (*sessionsv1.Approval, error) {
	return answerApproval(s.deps.Approvals.Resolve(ctx, approval.Resolution{
		TurnID: req.GetTurnId(), CallID: req.GetCallId(), Outcome: resolutions[req.GetOutcome()], Result: req.GetResult(),
		Comment: req.GetComment(),
	}))
}

// CompareTurns implements TurnService.
func (s *Turns) CompareTurns(ctx context.Context, req *sessionsv1.CompareTurnsRequest) (*sessionsv1.TurnComparison, error) {
	a, left, err := s.comparable(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	b, right, err := s.comparable(ctx, req.GetWith())
	if err != nil {
		return nil, err
	}
	c, err := s.deps.Reruns.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	left.Steps, right.Steps = uint32(c.StepsA), uint32(c.StepsB)
	return &sessionsv1.TurnComparison{
		A: left, B: right, Tools: convert.ComparedCalls(c.Calls), Answer: &sessionsv1.ComparedAnswer{Same: c.SameAnswer, Diff: c.Diff},
	}, nil
}

// comparable reads a turn of the caller for a comparison.
func (s *Turns) comparable(ctx context.Context, id string) (rerun.Compared, *sessionsv1.ComparedTurn, error) {
	row, ses, err := s.deps.Access.Turn(ctx, id)
	if err != nil {
		return rerun.Compared{}, nil, err
	}
	v, err := s.deps.Turns.View(ctx, row)
	if err != nil {
		return rerun.Compared{}, nil, err
	}
	return rerun.Compared{
		Turn: row, Session: ses, Answer: row.End.GetOutput(), Rerun: v.Input.Rerun != nil,
	}, convert.ComparedTurn(v), nil
}

func answerTurn(v turn.View, err error) (*sessionsv1.Turn, error) {
	if err != nil {
		return nil, err
	}
	return convert.TurnToProto(v), nil
}
