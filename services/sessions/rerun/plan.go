package rerun

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Plan is what makes a new turn run another one again.
type Plan struct {
	// Event is recorded in the journal of the new turn.
	Event *turnv1.TurnRerun
	// Copy is the session of the new turn, with what was said before it. Copy.Turn is what the other turn did and the new one takes over.
	Copy *conversation.Copy
	// Input, ClientTools and OutputSchema are those of the other turn.
	Input        *turnv1.Message
	ClientTools  []*store.ClientTool
	OutputSchema *structpb.Struct
	// WithoutMemory is that of the other turn.
	WithoutMemory bool
	// Model is the one that the caller of the other turn chose, "" for the agent's, if the re-run names one, or if an executor chooses it.
	Model string
}

// Plan reads all that a new turn begins with that runs another one again. Nothing is written.
func (s *Service) Plan(ctx context.Context, req Request) (*Plan, error) {
	event, err := req.event()
	if err != nil {
		return nil, err
	}
	if err := s.checkModel(ctx, event.GetModel()); err != nil {
		return nil, err
	}
	t, from, err := s.deps.Access.Turn(ctx, req.TurnID)
	if err != nil {
		return nil, err
	}
	if err := checkOver(t); err != nil {
		return nil, err
	}
	ses, err := s.deps.Sessions.ForkOf(ctx, from, session.Spec{AgentID: req.AgentID, Params: req.Params})
	if err != nil {
		return nil, err
	}
	if req.FromStep == failedStep {
		if event.FromStep, err = s.failedAt(ctx, t); err != nil {
			return nil, err
		}
	}
	cut, err := s.cutAt(ctx, t, ses.AgentID, event)
	if err != nil {
		return nil, err
	}
	return s.copy(ctx, t, from, ses, event, cut)
}

// checkOver refuses turns that have not ended, or that never began.
func checkOver(t store.Turn) error {
	switch {
	case !t.Ended():
		return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s is %s", t.ID, enum.Name(t.Status)).
			Hint("Wait for its end, or cancel it.")
	case t.Place == store.Unplaced:
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"turn %s was cancelled before it was its turn: there is nothing to run again", t.ID).
			Hint("Send its input as a new turn.")
	}
	return nil
}

// copy copies the conversation of a turn up to the message cut into the session of the new turn.
func (s *Service) copy(ctx context.Context, t store.Turn, from, ses store.Session, event *turnv1.TurnRerun, cut string) (*Plan, error) {
	p, input, err := s.pastOf(ctx, from, t, int(event.GetFromStep()), cut)
	if err != nil {
		return nil, err
	}
	if event.GetTools() == contract.ToolsLive {
		p.Aside = nil
	}
	c, err := s.deps.Sessions.CopySnapshot(ctx, ses, from, p)
	if err != nil {
		return nil, err
	}
	given, err := s.deps.Access.Input(ctx, t)
	if err != nil {
		return nil, err
	}
	if input == nil {
		return nil, access.NoTurn(t.ID) // it was deleted just now
	}
	event.Messages, event.Plan = uint32(len(c.Turn)), renamePlan(event.GetPlan(), c.Renamed)
	plan := &Plan{
		Event: event, Copy: c, Input: input, ClientTools: given.ClientTools, OutputSchema: given.OutputSchema, WithoutMemory: given.WithoutMemory,
	}
	if event.GetModel() == "" && given.Model != "" {
		with, err := s.deps.Agents.Get(ctx, ses.AgentID, 0)
		if err != nil {
			return nil, session.AgentDeleted(err, ses.AgentID)
		}
		if !with.Spec.Hosted() {
			plan.Model = given.Model
		}
	}
	return plan, nil
}

// Write records a re-run in the journal and stores what it takes over, behind the input that was just stored. It does nothing for
// other turns.
func (p *Plan) Write(tx *journal.Tx, t store.Turn) error {
	if p == nil {
		return nil
	}
	seq, err := tx.Append(journal.OfTurn(t), &turnv1.Event{Data: &turnv1.Event_TurnRerun{TurnRerun: p.Event}})
	if err != nil {
		return err
	}
	rows := make([]store.Message, len(p.Copy.Turn))
	for i, m := range p.Copy.Turn {
		m.TurnSeq, m.Place = t.Place, int64(seq)
		rows[i] = m
	}
	return tx.AddMessages(tx.Context(), rows...)
}
