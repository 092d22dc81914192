package infer_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func foundPassage(document, text string) *knowledgev1.FoundPassage {
	return &knowledgev1.FoundPassage{
		Ref:  &turnv1.PassageRef{BankId: "b", DocumentId: document, Version: "ver_1", Start: 5, End: 5 + int64(len(text)), Score: 2},
		Text: text, DocumentName: document + ".md", Heading: []string{"Leave"}, Page: 3,
	}
}

// passagesOf returns the message with passages of a request, "" if it has none, and the mark of each.
func passagesOf(req *inferencev1.GenerateRequest) (text string, marks []string) {
	for i, m := range req.GetMessages() {
		if shown := conversation.Text(m); strings.HasPrefix(shown, passage.PromptMark) {
			if i == len(req.GetMessages())-1 {
				return "the passages are behind the input", nil
			}
			text = shown
		}
	}
	for line := range strings.Lines(text) {
		if mark, _, found := strings.Cut(line, "] "); found && strings.HasPrefix(mark, "[k") {
			marks = append(marks, mark+"]")
		}
	}
	return text, marks
}

// citesFirst is a model that cites the first passage that it is shown.
func citesFirst(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	_, marks := passagesOf(req)
	return turntest.Say("It is so ", strings.Join(marks[:min(1, len(marks))], ""), ".")(req, stream)
}

func TestPassagesEnterThePrompt(t *testing.T) {
	for _, row := range []struct {
		name   string
		agent  *sessionsv1.Agent
		enters bool
	}{
		{"direct", &sessionsv1.Agent{Strategy: turnv1.Strategy_STRATEGY_DIRECT, Banks: []string{"b"}, Augment: &turnv1.Augment{}}, true},
		{"with tools", &sessionsv1.Agent{Banks: []string{"b"}, Augment: &turnv1.Augment{}}, true},
		{"without augment", &sessionsv1.Agent{Banks: []string{"b"}}, false},
		{"without banks", &sessionsv1.Agent{Augment: &turnv1.Augment{}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, row.agent)
			w.Passages(foundPassage("doc_1", "thirty days"), foundPassage("doc_2", "two"))
			w.Model(citesFirst)
			surface := w.Walk()[0].GetSurface()
			text, marks := passagesOf(w.Asked()[0])
			done := w.Completed().GetMessage()
			if !row.enters {
				if text != "" || len(surface.GetPassages()) != 0 || done.GetTainted() {
					t.Errorf("asked with %q, surface %v", text, surface)
				}
				return
			}
			if len(marks) != 2 || !strings.Contains(text, "doc_1.md") || !strings.Contains(text, "> thirty days") {
				t.Errorf("asked with %q", text)
			}
			if strings.Contains(surface.String(), "thirty") || len(surface.GetPassages()) != 2 || surface.GetPromptTokens() == 0 {
				t.Errorf("surface %v", surface)
			}
			part := done.GetContent()[0]
			if part.GetText() != "It is so [1]." || !done.GetTainted() || len(part.GetCitations()) != 1 {
				t.Fatalf("answer %v", done)
			}
			c := part.GetCitations()[0]
			if c.GetDocumentId() != "doc_1" || c.GetQuote() != "thirty days" || c.GetPage() != 3 || c.GetDocumentName() != "doc_1.md" {
				t.Errorf("cites %v", c)
			}
			shown := 0
			for _, e := range w.Journal.Events(in.TurnID) {
				shown += len(e.GetTurnStarted().GetPassages())
			}
			if shown != 2 {
				t.Errorf("%d passages in turn.started", shown)
			}
		})
	}
}

// TestPassagesAreCountedOnce: what a step has read calibrates when the conversation is compacted.
func TestPassagesAreCountedOnce(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Instructions: "Be kind.", Banks: []string{"b"}, Augment: &turnv1.Augment{}})
	w.Passages(foundPassage("doc_1", strings.Repeat("thirty days ", 100)))
	surface := w.Advance()[0].GetSurface()
	text, _ := passagesOf(w.Asked()[0])
	want := tokens.Text("Be kind.") + tokens.Text(text)
	if got := int(surface.GetPromptTokens()); got != want || text == "" {
		t.Errorf("the prompt has %d tokens, want %d", got, want)
	}
	messages := w.Asked()[0].GetMessages()
	want += tokens.Message(messages[len(messages)-1])
	if got := int(w.Outcome("infer-1").GetContextTokens()); got != want {
		t.Errorf("the step has read %d tokens, want %d", got, want)
	}
}

// TestAPassageThatIsGoneIsInNoLaterPrompt also covers that marks stay the same.
func TestAPassageThatIsGoneIsInNoLaterPrompt(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}, Banks: []string{"b"}, Augment: &turnv1.Augment{}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	w.Passages(foundPassage("doc_1", "one"), foundPassage("doc_2", "two"))
	w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
	w.Passages(foundPassage("doc_2", "two"))
	w.Advance()
	_, first := passagesOf(w.Asked()[0])
	text, second := passagesOf(w.Asked()[1])
	if len(first) != 2 || len(second) != 1 || first[1] != second[0] || strings.Contains(text, "doc_1") {
		t.Errorf("marks %v, then %v; asked with %q", first, second, text)
	}
	if call := w.Called()[0]; !call.GetTainted() {
		t.Error("a call of a model that has read passages is not tainted")
	}
}

func TestATurnWaitsForPassages(t *testing.T) {
	for _, rpc := range []string{"FindPassages", "ReadPassages"} {
		w := steptest.New(t, &sessionsv1.Agent{Banks: []string{"b"}, Augment: &turnv1.Augment{}})
		w.Passages(foundPassage("doc_1", "one"))
		w.Fail(rpc, fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE, "away"))
		out := w.Advance()
		if len(w.Asked()) != 1 || out[len(out)-1].GetKey() != "finish" {
			t.Errorf("%s is away: %v", rpc, out)
		}
	}
}
