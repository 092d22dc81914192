package infer_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// searched is a search that finds two passages.
func searched(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
	found := []passage.Passage{
		{Bank: "b", Document: "doc_1", Version: "ver_1", Name: "a.md", Start: 5, End: 15, Quote: "the secret"},
		{Bank: "b", Document: "doc_2", Version: "ver_2", Name: "b.md", End: 3, Quote: "two"},
	}
	passage.Marks(req.GetKey(), found)
	return turntest.Complete(stream, &registryv1.Completed{ExecutionId: "exe_1", Result: &turnv1.ToolResult{
		Content:           executiontest.Text(fmt.Sprintf("[%s] the secret\n[%s] two", found[0].Mark, found[1].Mark)),
		StructuredContent: passage.Structured(found, "lexical", nil),
	}})
}

// marks are the marks that a model reads in a turn.
func marks(req *inferencev1.GenerateRequest) (out []string) {
	for _, m := range req.GetMessages() {
		for _, p := range m.GetToolResult().GetContent() {
			for line := range strings.Lines(p.GetText()) {
				mark, _, _ := strings.Cut(line, "]")
				out = append(out, mark+"]")
			}
		}
	}
	return out
}

// searches is a model that searches once, and then says the pieces, in which M1 and M2 stand for the marks that it has read.
func searches(pieces ...string) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		found := marks(req)
		if len(found) < 2 {
			return turntest.CallTools(passage.SearchTool, 1)(req, stream)
		}
		said := make([]string, len(pieces))
		for i, p := range pieces {
			said[i] = strings.NewReplacer("M1", found[0], "M2", found[1]).Replace(p)
		}
		return turntest.Say(said...)(req, stream)
	}
}

func citingWorld(t *testing.T, agent *sessionsv1.Agent, model turntest.Generate) *steptest.World {
	t.Helper()
	agent.Banks = []string{"b"}
	w := steptest.New(t, agent, turntest.Tool(passage.SearchTool), turntest.Tool(passage.ReadTool))
	w.Tool(searched)
	w.Model(model)
	return w
}

func TestAnswersCiteWhatWasFound(t *testing.T) {
	w := citingWorld(t, &sessionsv1.Agent{}, searches("It is so M2, ", "and so M1", ". [k999999.1]"))
	sub := w.Transient()
	w.Advance()
	done := w.Completed()
	part := done.GetMessage().GetContent()[0]
	if part.GetText() != "It is so [1], and so [2]." || !done.GetMessage().GetTainted() {
		t.Errorf("answer %q, tainted %t", part.GetText(), done.GetMessage().GetTainted())
	}
	var cited []string
	for _, c := range part.GetCitations() {
		cited = append(cited, fmt.Sprintf("%d %s %s %d-%d %q", c.GetNumber(), c.GetDocumentId(), c.GetVersion(), c.GetStart(), c.GetEnd(),
			c.GetQuote()))
	}
	if got := strings.Join(cited, ", "); got != `1 doc_2 ver_2 0-3 "two", 2 doc_1 ver_1 5-15 "the secret"` {
		t.Errorf("cites %s", got)
	}
	said := ""
	for n := uint32(0); n < done.GetDeltas(); {
		if e := w.Next(sub); e.GetMessageDelta().GetMessageId() == done.GetMessage().GetId() {
			said += e.GetMessageDelta().GetText()
			n++
		}
	}
	if said != part.GetText() {
		t.Errorf("deltas say %q, the message %q", said, part.GetText())
	}
	if call := w.Called()[0]; len(call.GetBanks()) != 1 || call.GetBanks()[0] != "b" {
		t.Errorf("the call has the banks %v", call.GetBanks())
	}
	for _, m := range w.Asked()[1].GetMessages() {
		if m.GetToolResult().GetStructuredContent() != nil {
			t.Error("the model reads the passages twice")
		}
	}
}

func TestShieldsSeeWhatIsCited(t *testing.T) {
	w := citingWorld(t, &sessionsv1.Agent{Shields: []string{"output-redact-secret"}}, searches("A secret, ", "as M1", " says."))
	w.Advance()
	part := w.Completed().GetMessage().GetContent()[0]
	if part.GetText() != "A ***, as [1] says." || len(part.GetCitations()) != 1 || part.GetCitations()[0].GetQuote() != "the ***" {
		t.Fatalf("answer %v", part)
	}
	if at := part.GetCitations()[0].GetPosition(); !strings.HasPrefix(part.GetText()[at:], "[1]") {
		t.Errorf("the mark is not at %d", at)
	}
}

func TestOnlyAgentsWithBanksSearch(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"), turntest.Tool(passage.SearchTool))
	w.Model(turntest.Say("a [k123456.1]"))
	w.Advance()
	for _, tool := range w.Asked()[0].GetTools() {
		if passage.IsTool(tool.GetName()) {
			t.Errorf("an agent without banks is offered %s", tool.GetName())
		}
	}
	if got := steptest.Text(w.Completed().GetMessage()); got != "a [k123456.1]" {
		t.Errorf("an agent without banks says %q", got)
	}
}
