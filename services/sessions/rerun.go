package sessions

import (
	"context"
	"math"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// rerun is what makes a new turn run another one again.
type rerun struct {
	event *turnv1.TurnRerun
	// messages of the other turn, to stand behind the input.
	messages []store.Message
}

// RerunTurn implements TurnService.
func (s *Service) RerunTurn(ctx context.Context, req *sessionsv1.RerunTurnRequest) (*sessionsv1.Turn, error) {
	bare := proto.CloneOf(req)
	bare.IdempotencyKey = ""
	once, err := idempotency.Of(ctx, "rerun_turn", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	if t, ok, err := s.before(ctx, once); err != nil || ok {
		return t, err
	}
	event, err := rerunEvent(req)
	if err != nil {
		return nil, err
	}
	if err := s.checkModel(ctx, event.GetModel()); err != nil {
		return nil, err
	}
	t, from, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	switch {
	case !ended(t):
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s is %s", t.ID, enum.Name(turnStatus(t))).
			Hint("Wait for its end, or cancel it.")
	case t.Place == store.Unplaced:
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s was cancelled before it was its turn: there is nothing to run again", t.ID).
			Hint("Send its input as a new turn.")
	}
	ses, err := s.sessions.ForkOf(ctx, from, session.Spec{AgentID: req.GetAgentId(), Params: req.GetParams()})
	if err != nil {
		return nil, err
	}
	if req.GetFromStep() == failedStep {
		if event.FromStep, err = s.failedAt(ctx, t); err != nil {
			return nil, err
		}
	}
	cut, err := s.rerunFrom(ctx, t, ses.AgentID, event)
	if err != nil {
		return nil, err
	}
	o, err := s.rerunOrder(ctx, t, from, ses, event, cut)
	if err != nil {
		return nil, err
	}
	o.once, o.limits = once, req.GetLimits()
	return s.accept(ctx, o)
}

// rerunOrder reads all that the new turn begins with. Nothing is written.
func (s *Service) rerunOrder(ctx context.Context, t store.Turn, from, ses store.Session, event *turnv1.TurnRerun, cut string) (order, error) {
	p, input, err := s.pastOf(ctx, from, t, int(event.GetFromStep()), cut)
	if err != nil {
		return order{}, err
	}
	if event.GetTools() == contract.ToolsLive {
		p.Aside = nil
	}
	c, err := s.sessions.CopySnapshot(ctx, ses, from, p)
	if err != nil {
		return order{}, err
	}
	given, err := s.inputOf(ctx, t)
	if err != nil {
		return order{}, err
	}
	if input == nil {
		return order{}, access.NoTurn(t.ID) // it was deleted just now
	}
	event.Messages, event.Plan = uint32(len(c.Turn)), renamePlan(event.GetPlan(), c.Renamed)
	return order{
		session: c.Session, fresh: true, copy: c, content: input.GetContent(), from: input.GetFromAgent(), tools: given.ClientTools,
		rerun: &rerun{event: event, messages: c.Turn},
	}, nil
}

// rerunEvent reads a request.
func rerunEvent(req *sessionsv1.RerunTurnRequest) (*turnv1.TurnRerun, error) {
	e := &turnv1.TurnRerun{OfTurn: req.GetTurnId(), FromStep: 1, Tools: req.GetTools(), Missing: req.GetMissing(), Model: req.GetModel()}
	if m := e.GetModel(); m != "" && !blueprint.Model(m) {
		return nil, fault.Invalid("model", "%s", blueprint.WantModel)
	}
	if e.GetTools() == "" && req.GetFromStep() == failedStep {
		e.Tools = contract.ToolsLive // it goes on with what the other turn did not come to
	}
	if e.GetTools() == "" {
		e.Tools = contract.ToolsRecorded
	}
	if e.GetTools() == contract.ToolsLive && e.GetMissing() != "" {
		return nil, fault.Invalid("missing", "counts only for recorded tools: leave it out, or set tools to \"recorded\"")
	}
	if e.GetTools() == contract.ToolsRecorded && e.GetMissing() == "" {
		e.Missing = contract.MissingFail
	}
	if step := req.GetFromStep(); step != "" && step != failedStep {
		n, ok := stepkey.ParseInfer(step)
		if !ok {
			n, _ = strconv.Atoi(step)
		}
		if n < 1 || n > math.MaxUint16 {
			return nil, fault.Invalid("from_step", "%q is no model step: write \"infer-2\", \"2\" or \"failed\"", req.GetFromStep())
		}
		e.FromStep = uint32(n)
	}
	return e, nil
}

// inputOf reads what a turn was given.
func (s *Service) inputOf(ctx context.Context, t store.Turn) (store.TurnInput, error) {
	in, err := s.store.TurnInputs(ctx, t.Tenant, t.ID)
	if err == nil && len(in) != 1 {
		err = access.NoTurn(t.ID) // it was deleted just now
	}
	if err != nil {
		return store.TurnInput{}, err
	}
	return in[0], nil
}

// write tells of a re-run and stores what it takes over, behind the input that was just stored. It does nothing for other turns.
func (r *rerun) write(tx *journal.Tx, t store.Turn) error {
	if r == nil {
		return nil
	}
	seq, err := tx.Append(journal.OfTurn(t), &turnv1.Event{Data: &turnv1.Event_TurnRerun{TurnRerun: r.event}})
	if err != nil {
		return err
	}
	rows := make([]store.Message, len(r.messages))
	for i, m := range r.messages {
		m.TurnSeq, m.Place = t.Place, int64(seq)
		rows[i] = m
	}
	return tx.AddMessages(tx.Context(), rows...)
}
