package share

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Shown is a message as readers see it.
type Shown struct {
	// At is where it stands in the conversation; Seq is the order in which messages were committed.
	At  store.Point
	Seq int64
	// Message has only what readers may see.
	Message *turnv1.Message
	// Redacted: something is left out of it.
	Redacted bool
}

// Page returns at most limit messages behind a point, in the order of the conversation.
func (s *Service) Page(ctx context.Context, c Conversation, after store.Point, limit int) ([]Shown, error) {
	rows, err := s.deps.Store.Conversation(ctx, c.Tenant, c.SessionID, after, c.upTo(), limit)
	if err != nil {
		return nil, err
	}
	return shownAll(rows, c.Redact)
}

func shownAll(rows []store.Message, redact bool) ([]Shown, error) {
	out := make([]Shown, 0, len(rows))
	for _, row := range rows {
		m, err := conversation.Message(row)
		if err != nil {
			return nil, err
		}
		v := Shown{At: row.Point(), Seq: row.Seq}
		v.Message, v.Redacted = shown(m, redact)
		out = append(out, v)
	}
	return out, nil
}

// shown returns a message with what readers may see, and reports whether something was left out because tool results are redacted.
func shown(m *turnv1.Message, redact bool) (out *turnv1.Message, redacted bool) {
	out = &turnv1.Message{Role: m.GetRole(), CreateTime: m.GetCreateTime(), Tainted: m.GetTainted()}
	if redact && m.GetFromAgent() != "" { // the answer of a sub-agent is a result
		return out, true
	}
	var left bool
	out.Content, redacted = parts(m.GetContent(), redact)
	for _, call := range m.GetToolCalls() {
		v := &turnv1.ToolCall{CallId: call.GetCallId(), Tool: call.GetTool(), ArgumentsJson: call.GetArgumentsJson(), Tainted: call.GetTainted()}
		if redact {
			v.ArgumentsJson, redacted = "{}", true
		}
		out.ToolCalls = append(out.ToolCalls, v)
	}
	if r := m.GetToolResult(); r != nil {
		out.ToolResult = &turnv1.ToolResult{CallId: r.GetCallId(), Tool: r.GetTool(), IsError: r.GetIsError(), Trusted: r.GetTrusted()}
		if redact {
			return out, true
		}
		out.ToolResult.Content, left = parts(r.GetContent(), false)
	}
	return out, redacted || left
}

// parts returns content with the parts that readers may see. Of files they see the name only.
func parts(content []*turnv1.ContentPart, redact bool) (out []*turnv1.ContentPart, redacted bool) {
	for _, p := range content {
		v := &turnv1.ContentPart{}
		switch part := p.GetPart().(type) {
		case *turnv1.ContentPart_Text:
			v.Part = &turnv1.ContentPart_Text{Text: part.Text}
		case *turnv1.ContentPart_Blob:
			v.Part = file(part.Blob.GetName(), part.Blob.GetMediaType(), int64(len(part.Blob.GetData())))
		case *turnv1.ContentPart_File:
			v.Part = file(part.File.GetName(), part.File.GetMediaType(), part.File.GetSize())
		case *turnv1.ContentPart_Link:
			v.Part = &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{
				Uri: part.Link.GetUri(), Name: part.Link.GetName(), MediaType: part.Link.GetMediaType(),
			}}
		default:
			continue
		}
		for _, c := range p.GetCitations() {
			mark := &turnv1.Citation{Number: c.GetNumber(), Position: c.GetPosition()}
			if redacted = redacted || redact; !redact {
				mark.DocumentName, mark.Page, mark.Quote, mark.Heading = c.GetDocumentName(), c.GetPage(), c.GetQuote(), c.GetHeading()
			}
			v.Citations = append(v.Citations, mark)
		}
		out = append(out, v)
	}
	return out, redacted
}

func file(name, mediaType string, size int64) *turnv1.ContentPart_File {
	return &turnv1.ContentPart_File{File: &turnv1.FileRef{Name: name, MediaType: mediaType, Size: size}}
}

// watchPage is how many messages a stream reads at once.
const watchPage = 100

// Watch calls send for the messages behind a seq, and of a live share for those that follow, until ctx ends or the share does. begun is
// called once the share is found.
func (s *Service) Watch(ctx context.Context, token string, after int64, begun func() error, send func(Shown) error) error {
	c, err := s.Open(ctx, token)
	if err != nil {
		return err
	}
	news := &news{bus: s.deps.Bus, subject: contract.EventSubject(c.Tenant, c.SessionID)}
	defer news.close()
	if err := begun(); err != nil {
		return err
	}
	poll := time.NewTicker(s.cfg.Poll)
	defer poll.Stop()
	for sent := false; ; sent = true {
		notified := news.await() // before it reads, so that it misses nothing
		if c, err = s.Open(ctx, token); err != nil {
			return err
		}
		if !sent || c.Live { // a fixed share has nothing new, but may end
			if after, err = s.sendNew(ctx, c, after, send); err != nil {
				return err
			}
		}
		expiry := time.NewTimer(c.ExpireTime.Sub(s.deps.Store.Now()))
		select {
		case <-notified:
		case <-poll.C:
		case <-expiry.C:
		case <-ctx.Done():
			expiry.Stop()
			return ctx.Err()
		}
		expiry.Stop()
	}
}

// sendNew sends the messages of a conversation behind a seq, and returns the last one's.
func (s *Service) sendNew(ctx context.Context, c Conversation, after int64, send func(Shown) error) (int64, error) {
	for {
		rows, err := s.deps.Store.Messages(ctx, c.Tenant, c.SessionID, after, watchPage)
		if err != nil {
			return after, err
		}
		messages, err := shownAll(rows, c.Redact)
		if err != nil {
			return after, err
		}
		for _, m := range messages {
			if m.Seq > c.upTo() {
				return after, nil
			}
			if err := send(m); err != nil {
				return after, err
			}
			after = m.Seq
		}
		if len(rows) < watchPage {
			return after, nil
		}
	}
}

// Branch returns a session of the caller that begins with what a share shows, which is not stored yet.
func (s *Service) Branch(ctx context.Context, token string) (*conversation.Copy, error) {
	c, err := s.Open(ctx, token)
	if err != nil {
		return nil, err
	}
	p := authn.From(ctx)
	switch {
	case authn.IsAnonymous(p):
		return nil, fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "log in to continue the conversation")
	case p.GetTenant() != c.Tenant:
		return nil, errNone()
	case !c.Writable:
		return nil, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "the conversation is shared for reading only")
	}
	ses, err := s.deps.Sessions.New(ctx, session.Spec{AgentID: c.session.AgentID, Title: c.ShownTitle()})
	if err != nil {
		return nil, err
	}
	snapshot, err := s.deps.Conversations.At(ctx, c.session, c.Seq)
	if err != nil {
		return nil, err
	}
	turns := map[string]string{}
	for i, m := range snapshot.Messages {
		v, _ := shown(m, c.Redact)
		if turns[m.GetTurnId()] == "" {
			turns[m.GetTurnId()] = ids.New(ids.Turn)
		}
		v.TurnId = turns[m.GetTurnId()]
		describe(v)
		snapshot.Messages[i] = v
	}
	none := store.Session{Tenant: c.Tenant} // neither summaries nor files of the shared session are taken
	return s.deps.Conversations.Copy(ctx, ses, none, snapshot)
}

// describe puts texts in the place of files, which a share does not have, and of what is left out.
func describe(m *turnv1.Message) {
	r := m.GetToolResult()
	for _, p := range append(m.GetContent(), r.GetContent()...) {
		if f := p.GetFile(); f != nil {
			p.Part = text(fmt.Sprintf("[file %s, %s, %d bytes: not shared]", f.GetName(), f.GetMediaType(), f.GetSize()))
		}
	}
	left := []*turnv1.ContentPart{{Part: text("[not shared]")}}
	switch {
	case r != nil && len(r.GetContent()) == 0:
		r.Content = left
	case r == nil && len(m.GetContent()) == 0 && len(m.GetToolCalls()) == 0:
		m.Content = left
	}
}

func text(s string) *turnv1.ContentPart_Text { return &turnv1.ContentPart_Text{Text: s} }
