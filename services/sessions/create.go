package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/telemetry"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// order is a turn to be accepted.
type order struct {
	session store.Session
	fresh   bool // the session is to be made too
	content []*turnv1.ContentPart
	mode    string             // what to do about an active turn; "" is to wait
	copy    *conversation.Copy // what the fresh session begins with, nil = nothing
	tools   []byte             // of the client, nil = none
	once    store.Once
	child   *store.Child       // the sub-agent's turn that it is, nil for a user's
	path    string             // of a sub-agent's turn: all agents down to it
	limits  *sessionsv1.Limits // that the caller set
	rerun   *rerun.Plan        // what it takes over from the turn that it runs again, nil for others
	tell    string             // the address to tell of its end, "" = none
	clock   string             // the id of the schedule that begins it, "" for others
	from    string             // the agent whose answer the input is, "" for what people say
	answers string             // the turn of the sub-agent in the background whose result it brings, "" for others
}

// CreateTurn implements TurnService.
func (s *Service) CreateTurn(ctx context.Context, req *sessionsv1.CreateTurnRequest) (*sessionsv1.Turn, error) {
	content, err := s.checkInput(req)
	if err != nil {
		return nil, err
	}
	tools, err := s.checkClientTools(ctx, req.GetTools())
	if err != nil {
		return nil, err
	}
	bare := proto.CloneOf(req)
	bare.IdempotencyKey = ""
	once, err := idempotency.Of(ctx, "create_turn", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	if t, ok, err := s.before(ctx, once); err != nil || ok {
		return t, err
	}
	ses, err := s.access.Session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	o := order{
		session: ses, content: content, mode: req.GetMode(), tools: tools, once: once, limits: req.GetLimits(), tell: req.GetWebhookUrl(),
	}
	if err := s.webhooks.CheckTurnAddress(ctx, authn.Tenant(ctx), o.tell); err != nil {
		return nil, err
	}
	if o.mode == modeFork {
		if o.copy, err = s.sessions.Copy(ctx, ses, 0, session.Spec{}); err != nil {
			return nil, err
		}
		o.session, o.fresh = o.copy.Session, true
	}
	return s.accept(ctx, o)
}

// given is a request with input.
type given interface {
	GetInput() string
	GetContent() []*turnv1.ContentPart
}

// checkInput gives the input as parts.
func (s *Service) checkInput(req given) ([]*turnv1.ContentPart, error) {
	switch {
	case req.GetInput() != "" && len(req.GetContent()) > 0:
		return nil, fault.Invalid("input", "give either input or content, not both")
	case req.GetInput() == "" && len(req.GetContent()) == 0:
		return nil, fault.Invalid("input", "is empty: give input or content")
	case req.GetInput() != "" && blank(req.GetInput()):
		return nil, fault.Invalid("input", "is nothing but space: say something")
	case req.GetInput() != "":
		return s.checkText("input", req.GetInput())
	case !slices.ContainsFunc(req.GetContent(), says):
		return nil, fault.Invalid("content", "is nothing but space: say something")
	}
	size := 0
	for i, part := range req.GetContent() {
		if part.GetPart() == nil {
			return nil, fault.Invalid(fmt.Sprintf("content[%d]", i), "has neither text, blob nor link")
		}
		if !utf8.ValidString(part.GetText()) {
			return nil, fault.Invalid(fmt.Sprintf("content[%d].text", i), "is not valid UTF-8")
		}
		size += proto.Size(part)
	}
	if size > s.cfg.MaxInputBytes {
		return nil, tooLarge("content", size, s.cfg.MaxInputBytes)
	}
	return req.GetContent(), nil
}

// blank tells whether a text says nothing; models refuse such input.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// says tells whether a part is more than space. One that is none at all is found later.
func says(p *turnv1.ContentPart) bool {
	_, text := p.GetPart().(*turnv1.ContentPart_Text)
	return !text || !blank(p.GetText())
}

func (s *Service) checkText(field, text string) ([]*turnv1.ContentPart, error) {
	if len(text) > s.cfg.MaxInputBytes {
		return nil, tooLarge(field, len(text), s.cfg.MaxInputBytes)
	}
	if !utf8.ValidString(text) {
		return nil, fault.Invalid(field, "is not valid UTF-8")
	}
	return []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}, nil
}

func tooLarge(field string, size, limit int) error {
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "%s has %d bytes, more than the %d allowed", field, size, limit)
	e.Fields = []fault.Field{{Path: field, Message: fmt.Sprintf("at most %d bytes", limit)}}
	return e.Hint("Send less.")
}

// accept stores a turn and has it dispatched if it is the session's turn to go; all of it in one transaction.
func (s *Service) accept(ctx context.Context, o order) (*sessionsv1.Turn, error) {
	agent, err := s.agents.Get(ctx, o.session.AgentID, 0)
	if err != nil {
		return nil, session.AgentDeleted(err, o.session.AgentID)
	}
	if err := s.blueprints.CheckTurn(ctx, agent, o.session, authn.From(ctx), s.store.Now()); err != nil {
		return nil, err
	}
	limits, err := s.checkLimits(o.limits, agent)
	if err != nil {
		return nil, err
	}
	in, err := o.input(ctx, limits)
	if err != nil {
		return nil, err
	}
	var t store.Turn
	var earlier string
	var cut halt
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, earlier, cut = s.newTurn(ctx, tx, o), "", halt{}
		if steered, err := s.steerActive(tx, o); err != nil || steered != "" {
			earlier = steered
			return err
		}
		once := o.once
		once.TurnID = t.ID
		stands, added, err := s.keys.Remember(tx, once)
		if err != nil || !added {
			earlier = stands.TurnID
			return err
		}
		if o.answers != "" {
			if err := tx.SetCallback(ctx, t.Tenant, o.answers, t.ID); err != nil {
				return err
			}
		}
		if err := o.inherit(tx, t); err != nil {
			return err
		}
		in.TurnID = t.ID
		cut, err = s.enqueue(tx, &t, o, in)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoSession(o.session.ID)
	}
	if err != nil {
		return nil, err
	}
	if earlier != "" {
		return s.readTurn(ctx, t.Tenant, earlier)
	}
	if cut.tell {
		s.outbox.Cancel(cut.turn.ID, interruptReason)
	}
	s.outbox.Trigger()
	return convert.TurnToProto(t, in)
}

// input is what is kept of an order with its turn, whose id is not known yet.
func (o order) input(ctx context.Context, limits []byte) (in store.TurnInput, err error) {
	in = store.TurnInput{Input: conversation.Text(o.content), ClientTools: o.tools, Limits: limits, ScheduleID: o.clock}
	if in.Principal, err = proto.Marshal(authn.From(ctx)); err != nil {
		return in, fmt.Errorf("principal: %w", err)
	}
	if o.rerun != nil {
		in.Rerun, err = proto.Marshal(o.rerun.Event)
	}
	return in, err
}

func (s *Service) newTurn(ctx context.Context, tx *journal.Tx, o order) store.Turn {
	id := ids.New(ids.Turn)
	if o.child != nil {
		id = o.child.TurnID
	}
	return store.Turn{
		Tenant: o.session.Tenant, ID: id, AgentPath: o.path, SessionID: o.session.ID, AgentID: o.session.AgentID,
		Subject: authn.From(ctx).GetSubject(), Status: int32(turnv1.TurnStatus_TURN_STATUS_QUEUED), CreateUs: tx.NowUs,
		CheckUs: tx.NowUs + s.cfg.LostAfter.Microseconds(), TraceParent: telemetry.TraceParent(ctx), Urgent: o.mode == modeInterrupt,
	}
}

// send makes a turn the session's active one, hands it to the outbox, which starts its workflow a little later, and tells the workers once that
// stands.
func (s *Service) send(tx *journal.Tx, t store.Turn, text string, again bool) error {
	tx.Session.ActiveTurnID = t.ID
	tx.Touch()
	tx.After(func(ctx context.Context) { s.announce(ctx, t) })
	return tx.AddOutgoing(tx.Context(), store.Outgoing{
		Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID, Again: again, CreateUs: t.CreateUs,
		FromUs:  tx.NowUs + s.cfg.StartDelay.Microseconds(),
		Summary: outbox.Summary(t, text),
	})
}

func addMessage(tx *journal.Tx, t store.Turn, m *turnv1.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("message %s: %w", m.GetId(), err)
	}
	tx.Session.ContextBytes += int64(len(data))
	tx.Said = m
	return tx.AddMessages(tx.Context(), store.Message{
		Tenant: t.Tenant, SessionID: t.SessionID, Seq: int64(m.GetSeq()), ID: m.GetId(), TurnID: t.ID, TurnSeq: t.Place, Data: data,
	})
}
