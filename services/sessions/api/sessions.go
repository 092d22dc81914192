package api

import (
	"cmp"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Sessions implements SessionService.
type Sessions struct {
	sessionsv1.UnimplementedSessionServiceServer
	sessions       *session.Service
	conversations  *conversation.Service
	turns          *turn.Service
	maxExportBytes int
}

// NewSessions serves sessions. An export has at most maxExportBytes.
func NewSessions(sessions *session.Service, conversations *conversation.Service, turns *turn.Service, maxExportBytes int) *Sessions {
	return &Sessions{sessions: sessions, conversations: conversations, turns: turns, maxExportBytes: maxExportBytes}
}

// CreateSession implements SessionService.
func (s *Sessions) CreateSession(ctx context.Context, req *sessionsv1.CreateSessionRequest) (*sessionsv1.Session, error) {
	once, err := idempotency.OfRequest(ctx, "create_session", req)
	if err != nil {
		return nil, err
	}
	return answerSession(s.sessions.Create(ctx, session.Spec{
		AgentID: req.GetAgentId(), Title: req.GetTitle(), Labels: req.GetLabels(), Params: req.GetParams(), Banks: req.GetBanks(),
	}, once))
}

// GetSession implements SessionService.
func (s *Sessions) GetSession(ctx context.Context, req *sessionsv1.GetSessionRequest) (*sessionsv1.Session, error) {
	return answerSession(s.sessions.Get(ctx, req.GetSessionId()))
}

// ListSessions implements SessionService.
func (s *Sessions) ListSessions(ctx context.Context, req *sessionsv1.ListSessionsRequest) (*sessionsv1.ListSessionsResponse, error) {
	list := fmt.Sprintf("sessions|%s|%s|%q", access.Owner(ctx), req.GetAgentId(), req.GetLabel())
	for i, flag := range []*bool{req.Active, req.Pinned, req.Archived} {
		if flag != nil {
			list += fmt.Sprint("|", i, *flag)
		}
	}
	if req.GetQ() != "" || req.GetStatus() != 0 {
		list += fmt.Sprintf("|%q|%d", req.GetQ(), req.GetStatus())
	}
	list, at, err := timePage(list, req)
	if err != nil {
		return nil, err
	}
	rows, err := s.sessions.List(ctx, store.SessionFilter{
		AgentID: req.GetAgentId(), Labels: req.GetLabel(), Active: req.Active, Pinned: req.Pinned, Archived: req.Archived,
		Status: req.GetStatus(), Page: at,
	}, req.GetQ())
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, at.Limit-1, list, func(v store.Session) any { return afterTime(v.CreateTime, v.ID) })
	out := &sessionsv1.ListSessionsResponse{NextPageToken: next}
	for _, row := range rows {
		ses, err := convert.SessionToProto(row)
		if err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, ses)
	}
	return out, nil
}

var sessionFields = fieldmask.Resource{Name: "session", Mutable: []string{"title", "labels", "pinned", "archived"}}

// UpdateSession implements SessionService.
func (s *Sessions) UpdateSession(ctx context.Context, req *sessionsv1.UpdateSessionRequest) (*sessionsv1.Session, error) {
	return answerSession(s.sessions.Update(ctx, req.GetSession().GetId(), func(ses *store.Session) error {
		now := &sessionsv1.Session{Id: ses.ID, Title: ses.Title, Labels: ses.Labels, Pinned: ses.Pinned, Archived: ses.Archived}
		if err := sessionFields.Apply(now, req.GetSession(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		if utf8.RuneCountInString(now.GetTitle()) > session.MaxTitle {
			return fault.Invalid("session.title", "has more than %d characters", session.MaxTitle)
		}
		if len(now.GetLabels()) > session.MaxLabels {
			return fault.Invalid("session.labels", "are more than %d", session.MaxLabels)
		}
		ses.Title, ses.Labels, ses.Pinned, ses.Archived = now.GetTitle(), now.GetLabels(), now.GetPinned(), now.GetArchived()
		return nil
	}))
}

// DeleteSession implements SessionService.
func (s *Sessions) DeleteSession(ctx context.Context, req *sessionsv1.DeleteSessionRequest) (*sessionsv1.DeleteSessionResponse, error) {
	until, err := s.sessions.Delete(ctx, req.GetSessionId(), req.GetPermanent())
	if err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteSessionResponse{Deleted: true, RestoreUntil: timestamp.Of(until)}, nil
}

// RestoreSession implements SessionService.
func (s *Sessions) RestoreSession(ctx context.Context, req *sessionsv1.RestoreSessionRequest) (*sessionsv1.Session, error) {
	return answerSession(s.sessions.Restore(ctx, req.GetSessionId()))
}

// ListMessages implements SessionService.
func (s *Sessions) ListMessages(ctx context.Context, req *sessionsv1.ListMessagesRequest) (*sessionsv1.ListMessagesResponse, error) {
	ses, err := s.sessions.Get(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	after := int64(store.BeforeAll)
	list := "messages|" + ses.ID
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.sessions.Messages(ctx, ses, after, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(m store.Message) any { return m.Seq })
	out := &sessionsv1.ListMessagesResponse{NextPageToken: next}
	for _, row := range rows {
		m, err := conversation.Message(row)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, conversation.Shown(m))
	}
	return out, nil
}

// ForkSession implements SessionService.
func (s *Sessions) ForkSession(ctx context.Context, req *sessionsv1.ForkSessionRequest) (*sessionsv1.Session, error) {
	once, err := idempotency.OfRequest(ctx, "fork_session", req)
	if err != nil {
		return nil, err
	}
	return answerSession(s.sessions.Fork(ctx, req.GetSessionId(), req.GetSeq(), session.Spec{
		AgentID: req.GetAgentId(), Title: req.GetTitle(), Params: req.GetParams(), Banks: req.GetBanks(),
	}, once))
}

// ImportSession implements SessionService.
func (s *Sessions) ImportSession(ctx context.Context, req *sessionsv1.ImportSessionRequest) (*sessionsv1.Session, error) {
	once, err := idempotency.OfRequest(ctx, "import_session", req)
	if err != nil {
		return nil, err
	}
	from := req.GetSession()
	return answerSession(s.sessions.Import(ctx, session.Spec{
		AgentID: cmp.Or(req.GetAgentId(), from.GetAgentId()), Title: cmp.Or(req.GetTitle(), from.GetTitle()), Labels: from.GetLabels(),
		Params: from.GetParams(),
	}, req.GetMessages(), s.maxExportBytes, once))
}

// answerSession converts the result of a call.
func answerSession(ses store.Session, err error) (*sessionsv1.Session, error) {
	if err != nil {
		return nil, err
	}
	return convert.SessionToProto(ses)
}
