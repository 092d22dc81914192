package plan_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestDecisionsReadPassages: so do all model calls of a turn with passages, and users read no marks in what they decide.
func TestDecisionsReadPassages(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{
		Strategy: turnv1.Strategy_STRATEGY_AUTO, Banks: []string{"b"}, Augment: &turnv1.Augment{}, Shields: []string{"result-redact-pin"},
	})
	w.Passages(&knowledgev1.FoundPassage{
		Ref: &turnv1.PassageRef{BankId: "b", DocumentId: "doc_1", Version: "ver_1", End: 15}, Text: "thirty days, pin", DocumentName: "a.md",
	})
	w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		_, mark, _ := strings.Cut(shown(req), "\n\n[")
		mark, _, _ = strings.Cut(mark, "]")
		text := "the result"
		switch about := req.GetInstructions(); {
		case strings.Contains(about, contract.MarkSelect):
			text = `{"strategy":"plan","reason":"it has parts [` + mark + `]"}`
		case strings.Contains(about, contract.MarkPlan):
			text = `{"steps":[{"title":"A [` + mark + `]","goal":"do a [` + mark + `]"}]}`
		}
		return turntest.Say(text)(req, stream)
	})
	w.Walk()
	if n := len(w.Asked()); n != 4 {
		t.Fatalf("%d model calls", n)
	}
	for i, req := range w.Asked() {
		if text := shown(req); !strings.Contains(text, "> thirty days, ***") {
			t.Errorf("call %d reads %q", i, text)
		}
	}
	for _, e := range w.Journal.Events(in.TurnID) {
		if s := e.GetStrategySelected(); s != nil && s.GetReason() != "it has parts" {
			t.Errorf("the reason is %q", s.GetReason())
		}
		m := e.GetMessageCompleted().GetMessage()
		if m != nil && (!m.GetTainted() || strings.Contains(conversation.Text(m), "[k")) {
			t.Errorf("the message is %v", m)
		}
	}
	if got := w.Triggered(); got != "infer-1 result-redact-pin result redact  word" {
		t.Errorf("triggered %q", got)
	}
}

// shown returns the passages before the input of a request, "" if there are none.
func shown(req *inferencev1.GenerateRequest) string {
	for i, m := range req.GetMessages() {
		if text := conversation.Text(m); strings.HasPrefix(text, passage.PromptMark) && i < len(req.GetMessages())-1 {
			return text
		}
	}
	return ""
}
