package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// callBack gives the result of a sub-agent that worked in the background to the session that it was begun in, as the input of a turn behind all
// that waits there. The child's id is the request's idempotency key, so that it is given once.
func (s *Service) callBack(ctx context.Context, c store.Child, end *childEnd) error {
	told := func() error {
		return s.store.Write(ctx, func(tx *store.Tx) error { return tx.SetTold(ctx, c.Tenant, c.TurnID) })
	}
	ses, err := s.store.Session(ctx, c.Tenant, c.ParentSessionID)
	if errors.Is(err, store.ErrNotFound) {
		return told()
	}
	if err != nil {
		return err
	}
	owner, err := s.asOwner(ctx, end.turn)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("[from the agent %q, which was asked in the background (call %s)]\n\n%s", c.AgentID, c.CallID, partsText(end.result.GetContent()))
	if len(text) > s.cfg.MaxInputBytes { // an answer may be longer than what people may say
		text = strings.ToValidUTF8(text[:s.cfg.MaxInputBytes], "")
	}
	content, err := s.checkText("input", text)
	if err != nil {
		return err
	}
	once, err := onceOf(owner, "child_callback", c.TurnID, proto.Message(&sessionsv1.GetTurnRequest{TurnId: c.TurnID}))
	if err != nil {
		return err
	}
	_, err = s.accept(authn.With(ctx, authn.From(owner)), order{session: ses, content: content, once: once, from: c.AgentID, answers: c.TurnID})
	if fault.Is(err, faultv1.Reason_REASON_RATE_LIMITED) { // too many wait already; it is tried again
		return err
	}
	if err != nil && !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) && !fault.Is(err, faultv1.Reason_REASON_FAILED_PRECONDITION) {
		return err
	}
	return told()
}
