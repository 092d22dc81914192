package sessions_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestExportsAsPDF(t *testing.T) {
	k := newKit(t, options{})
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "a"}})
	must(t, err)
	export := func(messages []*turnv1.Message) ([]byte, error) {
		t.Helper()
		made, err := k.sessions.ImportSession(t.Context(), &sessionsv1.ImportSessionRequest{
			Session: &sessionsv1.Session{AgentId: "a"}, Messages: messages,
		})
		must(t, err)
		x, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: made.GetId(), Format: "pdf"})
		if len(x.GetMessages()) > 0 || x.GetMarkdown() != "" {
			t.Error("it has more than the PDF")
		}
		return x.GetPdf(), err
	}
	data, err := export(exported())
	must(t, err)
	if !bytes.HasPrefix(data, []byte("%PDF-")) {
		t.Errorf("%.20q", data)
	}
	_, err = export([]*turnv1.Message{{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{
		{Part: &turnv1.ContentPart_Text{Text: strings.Repeat("x", 2<<20+1)}},
	}}})
	testwant.Equal(t, "a long text", fault.CodeOf(err), "too_large")
}
