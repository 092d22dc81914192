package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
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
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// order is a turn to be accepted.
type order struct {
	session store.Session
	fresh   bool // the session is to be made too
	content []*turnv1.ContentPart
	reject  bool // rather than wait behind an active turn
	once    store.Once
}

// CreateTurn implements TurnService.
func (s *Service) CreateTurn(ctx context.Context, req *sessionsv1.CreateTurnRequest) (*sessionsv1.Turn, error) {
	content, err := s.checkInput(req)
	if err != nil {
		return nil, err
	}
	bare := proto.CloneOf(req)
	bare.IdempotencyKey = ""
	once, err := onceOf(ctx, "create_turn", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	if t, ok, err := s.before(ctx, once); err != nil || ok {
		return t, err
	}
	ses, err := s.session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return s.accept(ctx, order{session: ses, content: content, reject: req.GetMode() == "reject", once: once})
}

// checkInput gives the input as parts.
func (s *Service) checkInput(req *sessionsv1.CreateTurnRequest) ([]*turnv1.ContentPart, error) {
	switch {
	case req.GetInput() != "" && len(req.GetContent()) > 0:
		return nil, fault.Invalid("input", "give either input or content, not both")
	case req.GetInput() == "" && len(req.GetContent()) == 0:
		return nil, fault.Invalid("input", "is empty: give input or content")
	case req.GetInput() != "":
		return s.checkText("input", req.GetInput())
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

// onceOf names a request by its idempotency key; without a key it is the zero value.
func onceOf(ctx context.Context, method, key string, req proto.Message) (store.Once, error) {
	if key == "" {
		return store.Once{}, nil
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return store.Once{}, fmt.Errorf("hash request: %w", err)
	}
	sum := func(b []byte) string {
		h := sha256.Sum256(b)
		return hex.EncodeToString(h[:])
	}
	p := authn.From(ctx)
	return store.Once{Tenant: p.GetTenant(), Subject: p.GetSubject(), Method: method, Key: sum([]byte(key)), Hash: sum(body)}, nil
}

// before gives the turn that the same request made earlier.
func (s *Service) before(ctx context.Context, once store.Once) (*sessionsv1.Turn, bool, error) {
	if once.Key == "" {
		return nil, false, nil
	}
	stands, err := s.store.Once(ctx, once, micros())
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		err = sameRequest(once, stands)
	}
	if err != nil {
		return nil, false, err
	}
	t, err := s.readTurn(ctx, once.Tenant, stands.TurnID)
	return t, true, err
}

func sameRequest(once, stands store.Once) error {
	if once.Hash == stands.Hash {
		return nil
	}
	return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_IDEMPOTENCY_CONFLICT, "the idempotency key was used with another request").
		Hint("Use a new key for a new request.")
}

// accept stores a turn and has it dispatched if it is the session's turn to go; all of it in one transaction.
func (s *Service) accept(ctx context.Context, o order) (*sessionsv1.Turn, error) {
	if _, err := s.liveAgent(ctx, o.session.AgentID); err != nil {
		if !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			return nil, err
		}
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "agent %q was deleted", o.session.AgentID).
			Hint("Create it again, or open a session with another agent.")
	}
	principal, err := proto.Marshal(authn.From(ctx))
	if err != nil {
		return nil, fmt.Errorf("principal: %w", err)
	}
	var t store.Turn
	var earlier string
	text := partsText(o.content)
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, earlier = s.newTurn(ctx, tx, o), ""
		if o.once.Key != "" {
			once := o.once
			once.TurnID, once.ExpiresUs = t.ID, tx.NowUs+s.cfg.IdempotencyAge.Microseconds()
			stands, added, err := tx.AddOnce(ctx, once, tx.NowUs)
			if err != nil {
				return err
			}
			if !added {
				earlier = stands.TurnID
				return sameRequest(o.once, stands)
			}
		}
		if err := s.enterSession(tx, o); err != nil {
			return err
		}
		if err := s.queue(tx, &t, o, text); err != nil {
			return err
		}
		return tx.AddTurnInput(ctx, t.Tenant, store.TurnInput{TurnID: t.ID, Input: text, Principal: principal})
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noSession(o.session.ID)
	}
	if err != nil {
		return nil, err
	}
	if earlier != "" {
		return s.readTurn(ctx, t.Tenant, earlier)
	}
	s.outbox.kick()
	return turnToProto(t, text)
}

func (s *Service) newTurn(ctx context.Context, tx *journal.Tx, o order) store.Turn {
	return store.Turn{
		Tenant: o.session.Tenant, ID: ids.New(ids.Turn), SessionID: o.session.ID, AgentID: o.session.AgentID,
		Subject: authn.From(ctx).GetSubject(), Status: int32(turnv1.TurnStatus_TURN_STATUS_QUEUED), CreateUs: tx.NowUs,
		CheckUs: tx.NowUs + s.cfg.LostAfter.Microseconds(), TraceParent: telemetry.TraceParent(ctx),
	}
}

// enterSession locks the turn's session, or makes it.
func (s *Service) enterSession(tx *journal.Tx, o order) error {
	if !o.fresh {
		return tx.Lock(o.session.Tenant, o.session.ID)
	}
	tx.Session = o.session
	return tx.AddSession(tx.Context(), o.session)
}

// queue writes turn.queued, the user's message and the turn, and hands the turn to the outbox if none is before it.
func (s *Service) queue(tx *journal.Tx, t *store.Turn, o order, text string) error {
	ctx := tx.Context()
	var position int
	if active := tx.Session.ActiveTurnID; active != "" {
		if o.reject {
			return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s of the session is active", active).
				Hint("Wait for its end, or use mode \"enqueue\".")
		}
		var err error
		if position, err = tx.CountOpen(ctx, t.Tenant, t.SessionID); err != nil {
			return err
		}
		if position >= s.cfg.MaxQueuedTurns {
			return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "the session has %d unfinished turns", position).
				Hint("Wait until some have ended.")
		}
	}
	m := &turnv1.Message{
		Id: ids.New(ids.Message), SessionId: t.SessionID, TurnId: t.ID, Role: turnv1.Role_ROLE_USER, Content: o.content, CreateTime: stamp(tx.NowUs),
	}
	seq, err := tx.Append(origin(*t), &turnv1.Event{Data: &turnv1.Event_TurnQueued{TurnQueued: &turnv1.TurnQueued{
		AgentId: t.AgentID, MessageId: m.GetId(), Input: o.content, Position: uint32(position),
	}}})
	if err != nil {
		return err
	}
	t.FirstSeq, t.InputSeq, m.Seq = seq, seq, seq
	if err := addMessage(tx, *t, m); err != nil {
		return err
	}
	if err := tx.AddTurn(ctx, *t); err != nil {
		return err
	}
	if tx.Session.Title == "" {
		tx.Session.Title = firstWords(text, 60)
	}
	if tx.Session.ActiveTurnID != "" {
		return nil
	}
	return send(tx, *t, text, false)
}

// send makes a turn the session's active one and hands it to the outbox.
func send(tx *journal.Tx, t store.Turn, text string, again bool) error {
	tx.Session.ActiveTurnID = t.ID
	tx.Touch()
	return tx.AddOutgoing(tx.Context(), store.Outgoing{
		Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID, Again: again, CreateUs: t.CreateUs,
		Summary: t.AgentID + ": " + firstWords(text, 78-len(t.AgentID)),
	})
}

func addMessage(tx *journal.Tx, t store.Turn, m *turnv1.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("message %s: %w", m.GetId(), err)
	}
	return tx.AddMessage(tx.Context(), store.Message{
		Tenant: t.Tenant, SessionID: t.SessionID, Seq: m.GetSeq(), ID: m.GetId(), TurnID: t.ID, TurnSeq: t.FirstSeq, Data: data,
	})
}

func origin(t store.Turn) journal.Origin { return journal.Origin{TurnID: t.ID, AgentID: t.AgentID} }

// firstWords gives the beginning of a text as one line of at most limit characters.
func firstWords(text string, limit int) string {
	limit = max(limit, 16)
	if len(text) > 8*limit {
		text = strings.ToValidUTF8(text[:8*limit], "")
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	line := []rune(strings.Join(words, " "))
	if len(line) <= limit {
		return string(line)
	}
	line = line[:limit-1]
	return strings.TrimRightFunc(string(line), unicode.IsSpace) + "…"
}
