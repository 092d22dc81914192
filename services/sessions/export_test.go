package sessions_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestExport(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxExportBytes: 20_000}})
	k.agent("assistant")
	ses := k.session().GetId()
	k.worker(k.turn(ses, "what is ```1+2```?")).run("three")
	w := k.worker(k.turn(ses, "and more?"))
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("well")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	export := func(req *sessionsv1.ExportSessionRequest) *sessionsv1.ExportSessionResponse {
		t.Helper()
		req.SessionId = ses
		got, err := k.sessions.ExportSession(t.Context(), req)
		must(t, err)
		return got
	}
	x := export(&sessionsv1.ExportSessionRequest{})
	testwant.Equal(t, "export: Session.Id", x.GetSession().GetId(), ses)
	testwant.Len(t, "export: Turns", x.GetTurns(), 2)
	testwant.Equal(t, "export: Turns[0].Output", x.GetTurns()[0].GetOutput(), "three")
	testwant.Len(t, "export: Messages", x.GetMessages(), 6)
	testwant.Len(t, "export: Events", x.GetEvents(), 0)
	testwant.Equal(t, "export: Markdown", x.GetMarkdown(), "")
	x = export(&sessionsv1.ExportSessionRequest{Format: "json", IncludeEvents: true})
	if n := len(x.GetEvents()); n != int(x.GetSession().GetLastSeq()) || x.GetEvents()[n-1].GetType() != "turn.cancelled" {
		t.Errorf("%d events", n)
	}
	x = export(&sessionsv1.ExportSessionRequest{Format: "markdown"})
	rest := x.GetMarkdown()
	for _, want := range []string{
		"# what is ```1+2```?\n", "- Agent: `assistant`\n", "\n## User (", "\nwhat is ```1+2```?\n", "\n## Assistant (",
		"\nCalls `calc__add`:\n\n```json\n{}\n```\n",
		"\n### Result of `calc__add`\n\n```\n3\n```\n", "\nthree\n", "\nand more?\n", "\nwell\n", "\n> The turn was cancelled.\n",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("no %q in the rest of\n%s", want, x.GetMarkdown())
		}
		rest = after
	}
	if x.GetSession() != nil || rest != "" {
		t.Errorf("after the transcript %q, %v", rest, x.GetSession())
	}
	_, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: ses, Format: "markdown", IncludeEvents: true})
	wantFault(t, err, "invalid_argument", "include_events")
	_, err = k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: "ses_none"})
	wantFault(t, err, "not_found")
	k.turn(ses, strings.Repeat("x", 15_000))
	_, err = k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: ses})
	wantFault(t, err, "too_large")
}

// The messages of an export are as models read them, also where input came while a call ran.
func TestAnExportIsInTheOrderOfTheConversation(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("pay"))
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), calls("c1", "c2"), 0)
	k.steer(w.turn.GetId(), "and hurry")
	w.result("tool-1.1", "c2", "second")
	w.result("tool-1.0", "c1", "first")
	want := said(w.context())
	w.heard("infer-2", w.lease("infer-2"), 1, &turnv1.Message{Content: executiontest.Text("paid")})
	w.commit("finish", w.lease("finish"), func(r *executionv1.CommitStepRequest) {
		r.Inputs, r.Ending = 1, &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}
	})
	x, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: w.turn.GetSessionId()})
	must(t, err)
	if got := said(&executionv1.GetContextResponse{Messages: x.GetMessages()}); got != want+"paid|" ||
		want != "pay|calls|first|second|and hurry|" {
		t.Errorf("export %s, the model read %s", got, want)
	}
	x, err = k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: w.turn.GetSessionId(), Format: "markdown"})
	must(t, err)
	if hurry, result := strings.Index(x.GetMarkdown(), "and hurry"), strings.Index(x.GetMarkdown(), "second"); hurry < result {
		t.Errorf("the input stands before the result:\n%s", x.GetMarkdown())
	}
}
