package api

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/share"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/sharedb"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// Shares implements ShareService.
type Shares struct {
	sessionsv1.UnimplementedShareServiceServer
	shares *share.Service
	turns  *turn.Service
}

// NewShares serves shares.
func NewShares(shares *share.Service, turns *turn.Service) *Shares {
	return &Shares{shares: shares, turns: turns}
}

// accessContinue is the access of shares whose readers may continue the conversation.
const accessRead, accessContinue = "read", "continue"

// maxSeconds bounds durations in seconds, so that they can be computed with.
const maxSeconds = 1 << 32

// CreateShare implements ShareService.
func (s *Shares) CreateShare(ctx context.Context, req *sessionsv1.CreateShareRequest) (*sessionsv1.CreateShareResponse, error) {
	if req.GetTtlSeconds() > maxSeconds {
		return nil, fault.Invalid("ttl_seconds", "is too large")
	}
	made, token, err := s.shares.Create(ctx, share.Spec{
		SessionID: req.GetSessionId(), Writable: req.GetAccess() == accessContinue, Audience: sharedb.Audience(req.GetAudience()),
		Subjects: req.GetSubjects(), TTL: time.Duration(req.GetTtlSeconds()) * time.Second, Live: req.GetLive(),
		Redact: req.GetRedactToolResults(), Seq: req.GetSeq(),
	})
	if err != nil {
		return nil, err
	}
	return &sessionsv1.CreateShareResponse{Id: made.ID, Url: "/shared/" + token, Token: token, Share: shareToProto(made)}, nil
}

// ListShares implements ShareService.
func (s *Shares) ListShares(ctx context.Context, req *sessionsv1.ListSharesRequest) (*sessionsv1.ListSharesResponse, error) {
	last, list := "", "shares|"+req.GetSessionId()
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &last)
	if err != nil {
		return nil, err
	}
	all, err := s.shares.List(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	if last != "" { // newer ids are higher
		all = slices.DeleteFunc(all, func(v sharedb.Share) bool { return v.ID >= last })
	}
	all, next := page.Trim(all, size, list, func(v sharedb.Share) any { return v.ID })
	out := &sessionsv1.ListSharesResponse{NextPageToken: next}
	for _, v := range all {
		out.Shares = append(out.Shares, shareToProto(v))
	}
	return out, nil
}

// RevokeShare implements ShareService.
func (s *Shares) RevokeShare(ctx context.Context, req *sessionsv1.RevokeShareRequest) (*sessionsv1.RevokeShareResponse, error) {
	if err := s.shares.Revoke(ctx, req.GetSessionId(), req.GetShareId()); err != nil {
		return nil, err
	}
	return &sessionsv1.RevokeShareResponse{}, nil
}

// GetShared implements ShareService.
func (s *Shares) GetShared(ctx context.Context, req *sessionsv1.GetSharedRequest) (*sessionsv1.GetSharedResponse, error) {
	c, err := s.shares.Open(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	at, list := store.Beginning(), "shared|"+c.ID
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &at)
	if err != nil {
		return nil, err
	}
	rows, err := s.shares.Page(ctx, c, at, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(m share.Shown) any { return m.At })
	out := &sessionsv1.GetSharedResponse{
		Title: c.ShownTitle(), Access: accessOf(c.Share), Live: c.Live, NextPageToken: next, ExpireTime: timestamp.Of(c.ExpireTime),
	}
	for _, m := range rows {
		out.Messages = append(out.Messages, sharedToProto(m))
	}
	return out, nil
}

// WatchShared implements ShareService.
func (s *Shares) WatchShared(req *sessionsv1.WatchSharedRequest, stream sessionsv1.ShareService_WatchSharedServer) error {
	after := int64(store.BeforeAll)
	if req.After != nil {
		after = req.GetAfter()
	}
	return s.shares.Watch(stream.Context(), req.GetToken(), after, func() error { return stream.SendHeader(metadata.MD{}) },
		func(m share.Shown) error { return stream.Send(sharedToProto(m)) })
}

// ContinueShared implements ShareService.
func (s *Shares) ContinueShared(ctx context.Context, req *sessionsv1.ContinueSharedRequest) (*sessionsv1.Turn, error) {
	once, err := idempotency.OfRequest(ctx, "continue_shared", req)
	if err != nil {
		return nil, err
	}
	return answerTurn(s.turns.Continue(ctx, req.GetMessage(), once, func(ctx context.Context) (*conversation.Copy, error) {
		return s.shares.Branch(ctx, req.GetToken())
	}))
}

func accessOf(v sharedb.Share) string {
	if v.Writable {
		return accessContinue
	}
	return accessRead
}

func shareToProto(v sharedb.Share) *sessionsv1.Share {
	return &sessionsv1.Share{
		Id: v.ID, SessionId: v.SessionID, Access: accessOf(v), Audience: string(v.Audience), Subjects: v.Subjects, Live: v.Live, Seq: v.Seq,
		RedactToolResults: v.Redact, Subject: v.Subject, CreateTime: timestamp.Of(v.CreateTime), ExpireTime: timestamp.Of(v.ExpireTime),
	}
}

func sharedToProto(v share.Shown) *sessionsv1.SharedMessage {
	m := v.Message
	out := &sessionsv1.SharedMessage{
		Seq: v.Seq, Role: m.GetRole(), Content: sharedParts(m.GetContent()), Tool: m.GetToolResult().GetTool(),
		IsError: m.GetToolResult().GetIsError(), Redacted: v.Redacted, CreateTime: m.GetCreateTime(),
	}
	if r := m.GetToolResult(); r != nil {
		out.Content = sharedParts(r.GetContent())
	}
	for _, call := range m.GetToolCalls() {
		shown := &sessionsv1.SharedCall{Tool: call.GetTool()}
		if !v.Redacted {
			shown.ArgumentsJson = call.GetArgumentsJson()
		}
		out.ToolCalls = append(out.ToolCalls, shown)
	}
	return out
}

func sharedParts(parts []*turnv1.ContentPart) (out []*sessionsv1.SharedPart) {
	for _, p := range parts {
		v := &sessionsv1.SharedPart{
			Text: p.GetText(), Uri: p.GetLink().GetUri(), Name: p.GetFile().GetName(), MediaType: p.GetFile().GetMediaType(),
			Size: p.GetFile().GetSize(),
		}
		if link := p.GetLink(); link != nil {
			v.Name, v.MediaType = link.GetName(), link.GetMediaType()
		}
		for _, c := range p.GetCitations() {
			v.Citations = append(v.Citations, &sessionsv1.SharedCitation{
				Number: c.GetNumber(), DocumentName: c.GetDocumentName(), Page: c.GetPage(), Quote: c.GetQuote(),
			})
		}
		out = append(out, v)
	}
	return out
}
