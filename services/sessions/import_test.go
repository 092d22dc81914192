package sessions_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

// exported is a conversation with a call, its result, a citation, a picture, a link and a file that nobody has.
func exported() []*turnv1.Message {
	text := func(s string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
	}
	cited := text("It costs 5 [1].")
	cited.Citations = []*turnv1.Citation{{Number: 1, Position: 11, BankId: "handbook", DocumentId: "doc_1", Quote: "5 euros"}}
	return []*turnv1.Message{
		{
			Id: "msg_1", SessionId: "ses_old", TurnId: "trn_1", Role: turnv1.Role_ROLE_USER, Seq: 7,
			Content: []*turnv1.ContentPart{
				text("What\x00 does it cost?"),
				{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: []byte{1, 2, 3}}}},
				{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{FileId: "fil_none", Name: "bill.pdf", MediaType: "application/pdf", Size: 9}}},
				{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: "https://example.com/a", Fetch: true}}},
			},
		},
		{
			TurnId: "trn_1", Role: turnv1.Role_ROLE_ASSISTANT, Model: "a/b", Reasoning: "I have to ask.", Verbatim: &turnv1.Verbatim{Issuer: "x"},
			ToolCalls: []*turnv1.ToolCall{{CallId: "c1", Tool: "shop__price", ArgumentsJson: "{broken"}},
		},
		{TurnId: "trn_1", Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			CallId: "c1", Tool: "shop__price", Content: []*turnv1.ContentPart{text("5")}, Trusted: true, ArtifactIds: []string{"art_none"},
		}},
		{TurnId: "trn_1", Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{cited}},
		{TurnId: "trn_2", Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{text("Thanks")}},
	}
}

// equal returns what an export says besides what is the session's own.
func equal(messages []*turnv1.Message) string {
	var b strings.Builder
	for _, m := range messages {
		m = proto.CloneOf(m)
		m.Id, m.SessionId, m.TurnId, m.Seq = "", "", "", 0
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}

// TestExportsRoundTrip: what an export says is what the session says that is made of it, and an export of that.
func TestExportsRoundTrip(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "a"}})
		must(t, err)
		messages := exported()
		first, err := k.sessions.ImportSession(t.Context(), &sessionsv1.ImportSessionRequest{
			Session: &sessionsv1.Session{
				Id: "ses_old", AgentId: "a", Title: "Prices", Labels: map[string]string{"x": "y"}, ForkedFromSession: "ses_1",
			},
			Messages: messages, Turns: []*structpb.Struct{{}}, IdempotencyKey: "once",
		})
		must(t, err)
		if first.GetId() == "ses_old" || first.GetForkedFromSession() != "" || first.GetTitle() != "Prices" || first.GetLabels()["x"] != "y" {
			t.Errorf("session %v", first)
		}
		one, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: first.GetId(), IncludeEvents: true})
		must(t, err)
		testwant.Equal(t, "events", len(one.GetEvents()), 1)
		testwant.Equal(t, "copied", one.GetEvents()[0].GetSessionForked().GetMessages(), 5)
		want := exported()
		for _, m := range want {
			m.Tainted, m.Verbatim = true, nil
			for _, c := range m.GetToolCalls() {
				c.Tainted = true
			}
		}
		want[0].Content[2] = &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: "[bill.pdf, application/pdf, 9 bytes]"}}
		want[0].Content[3].GetLink().Fetch = false
		want[2].GetToolResult().Trusted, want[2].GetToolResult().ArtifactIds = false, nil
		for i, m := range one.GetMessages() {
			want[i].CreateTime = m.GetCreateTime()
			if m.GetTurnId() == messages[i].GetTurnId() || m.GetSessionId() != first.GetId() {
				t.Errorf("message %d is one of turn %s, session %s", i, m.GetTurnId(), m.GetSessionId())
			}
		}
		testwant.Equal(t, "messages", equal(one.GetMessages()), equal(want))
		second, err := k.sessions.ImportSession(t.Context(), &sessionsv1.ImportSessionRequest{
			Session: one.GetSession(), Messages: one.GetMessages(),
		})
		must(t, err)
		two, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: second.GetId()})
		must(t, err)
		testwant.Equal(t, "messages again", equal(two.GetMessages()), equal(one.GetMessages()))
		// A model reads them before the input of the first turn, and a fork takes them over.
		made, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: second.GetId(), Input: "And two?"})
		must(t, err)
		read, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: made.GetId()})
		must(t, err)
		testwant.Equal(t, "context", len(read.GetMessages()), 6)
		fork, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: first.GetId()})
		must(t, err)
		three, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: fork.GetId()})
		must(t, err)
		testwant.Equal(t, "messages of a fork", equal(three.GetMessages()), equal(one.GetMessages()))
	})
}

func TestImportsOfHostileFiles(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxExportBytes: 4 << 10}})
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "a"}})
	must(t, err)
	for name, row := range map[string]struct {
		change func(r *sessionsv1.ImportSessionRequest)
		code   string
	}{
		"no messages":     {func(r *sessionsv1.ImportSessionRequest) { r.Messages = nil }, "invalid_argument"},
		"no role":         {func(r *sessionsv1.ImportSessionRequest) { r.Messages[0].Role = 0 }, "invalid_argument"},
		"an unknown role": {func(r *sessionsv1.ImportSessionRequest) { r.Messages[0].Role = 9 }, "invalid_argument"},
		"a user that calls": {func(r *sessionsv1.ImportSessionRequest) {
			r.Messages[0].ToolCalls = r.Messages[1].GetToolCalls()
		}, "invalid_argument"},
		"an empty part":      {func(r *sessionsv1.ImportSessionRequest) { r.Messages[0].Content[0].Part = nil }, "invalid_argument"},
		"no such call":       {func(r *sessionsv1.ImportSessionRequest) { r.Messages[2].ToolResult.CallId = "c2" }, "invalid_argument"},
		"another turn":       {func(r *sessionsv1.ImportSessionRequest) { r.Messages[2].TurnId = "trn_2" }, "invalid_argument"},
		"another tool":       {func(r *sessionsv1.ImportSessionRequest) { r.Messages[2].ToolResult.Tool = "mesh__x" }, "invalid_argument"},
		"two results":        {func(r *sessionsv1.ImportSessionRequest) { r.Messages[3] = r.GetMessages()[2] }, "invalid_argument"},
		"a result first":     {func(r *sessionsv1.ImportSessionRequest) { r.Messages = r.GetMessages()[2:] }, "invalid_argument"},
		"an unknown agent":   {func(r *sessionsv1.ImportSessionRequest) { r.AgentId = "b" }, "not_found"},
		"a long title":       {func(r *sessionsv1.ImportSessionRequest) { r.Session.Title = strings.Repeat("x", 201) }, "invalid_argument"},
		"a title with NUL":   {func(r *sessionsv1.ImportSessionRequest) { r.Title = "a\x00b" }, "invalid_argument"},
		"a long model":       {func(r *sessionsv1.ImportSessionRequest) { r.Messages[1].Model = strings.Repeat("x", 257) }, "invalid_argument"},
		"a call id with NUL": {func(r *sessionsv1.ImportSessionRequest) { r.Messages[1].ToolCalls[0].CallId = "\x00" }, "invalid_argument"},
		"too large": {func(r *sessionsv1.ImportSessionRequest) {
			r.Messages[0].Content[0] = &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: strings.Repeat("x", 5<<10)}}
		}, "too_large"},
	} {
		req := &sessionsv1.ImportSessionRequest{Session: &sessionsv1.Session{AgentId: "a"}, Messages: exported()}
		row.change(req)
		_, err := k.sessions.ImportSession(t.Context(), req)
		testwant.Equal(t, name, fault.CodeOf(err), row.code)
	}
	list, err := k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{})
	must(t, err)
	testwant.Equal(t, "sessions", len(list.GetSessions()), 0)
}
