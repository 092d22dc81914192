package api

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/transcript"
)

// readPage is how many rows one read of a session takes.
const readPage = 200

// ExportSession implements SessionService. What happens while it reads may be in it or not.
func (s *Sessions) ExportSession(ctx context.Context, req *sessionsv1.ExportSessionRequest) (*sessionsv1.ExportSessionResponse, error) {
	ses, err := s.sessions.Get(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	format := req.GetFormat()
	transcribed := format == "markdown" || format == "pdf"
	if transcribed && req.GetIncludeEvents() {
		return nil, fault.Invalid("include_events", "a transcript has no events: use format \"json\"")
	}
	shown, err := convert.SessionToProto(ses)
	if err != nil {
		return nil, err
	}
	x := &export{server: s, session: ses, out: &sessionsv1.ExportSessionResponse{Session: shown}}
	if err := x.turns(ctx); err != nil {
		return nil, err
	}
	if err := x.messages(ctx); err != nil {
		return nil, err
	}
	if req.GetIncludeEvents() {
		if err := x.events(ctx); err != nil {
			return nil, err
		}
	}
	switch format {
	case "markdown":
	case "pdf":
		data, err := transcript.PDF(x.out)
		return &sessionsv1.ExportSessionResponse{Pdf: data}, err
	default:
		return x.out, nil
	}
	text := transcript.Markdown(x.out)
	if len(text) > s.maxExportBytes {
		return nil, x.tooLarge()
	}
	return &sessionsv1.ExportSessionResponse{Markdown: text}, nil
}

// export gathers a session until it is too large.
type export struct {
	server  *Sessions
	session store.Session
	out     *sessionsv1.ExportSessionResponse
	size    int
}

// grow counts what was added.
func (x *export) grow(m proto.Message) error {
	const frame = 8 // tag and length of an element
	if x.size += proto.Size(m) + frame; x.size > x.server.maxExportBytes {
		return x.tooLarge()
	}
	return nil
}

func (x *export) tooLarge() error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the session is larger than the %d bytes that an export may have",
		x.server.maxExportBytes).
		Hint("Export it without events, or read its messages, turns and events page by page.")
}

func (x *export) turns(ctx context.Context) error {
	for after := uint32(0); ; {
		rows, err := x.server.sessions.Turns(ctx, x.session, after, readPage)
		if err != nil {
			return err
		}
		views, err := x.server.turns.Views(ctx, x.session.Tenant, rows)
		if err != nil {
			return err
		}
		for _, t := range convert.TurnsToProto(views) {
			x.out.Turns, after = append(x.out.Turns, t), t.GetFirstSeq()
			if err := x.grow(t); err != nil {
				return err
			}
		}
		if len(rows) < readPage {
			return nil
		}
	}
}

func (x *export) messages(ctx context.Context) error {
	err := x.server.conversations.Each(ctx, x.session, store.AfterAll, func(row store.Message) error {
		m, err := conversation.Message(row)
		if err != nil {
			return err
		}
		m = conversation.Shown(m)
		x.out.Messages = append(x.out.Messages, m)
		return x.grow(m)
	})
	x.out.Messages = conversation.ResultsAtCalls(x.out.Messages)
	return err
}

func (x *export) events(ctx context.Context) error {
	for after := uint32(0); ; {
		rows, err := x.server.sessions.Events(ctx, x.session, after, readPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			e := &turnv1.Event{}
			if err := proto.Unmarshal(row.Data, e); err != nil {
				return fmt.Errorf("event %d: %w", row.Seq, err)
			}
			x.out.Events, after = append(x.out.Events, e), row.Seq
			if err := x.grow(e); err != nil {
				return err
			}
		}
		if len(rows) < readPage {
			return nil
		}
	}
}
