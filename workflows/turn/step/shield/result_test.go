package shield_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// answers is a tool that ends with what give gives.
func answers(give func() *registryv1.Completed) turntest.Call {
	return func(_ *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		return turntest.Complete(stream, give())
	}
}

// long is a result of which the model is shown the ends, and which says "codeword" at the very place where it is cut.
func long() *registryv1.Completed {
	const limit = 400
	text := strings.Repeat("x", limit/4-4) + "codeword" + strings.Repeat("y", 2*limit)
	return &registryv1.Completed{
		ExecutionId: "exe_1",
		Result: &turnv1.ToolResult{
			Truncated: true, ArtifactIds: []string{"art_1"},
			Content: executiontest.Text(contract.Preview(text, limit, "art_1")),
		},
		Wholes: []*registryv1.Whole{{ArtifactId: "art_1", Name: "x.txt", MediaType: "text/codeword", Data: []byte(text), PreviewLimit: limit}},
	}
}

// rich is a result with a text of every kind.
func rich() *registryv1.Completed {
	structured, err := structpb.NewValue(map[string]any{"codeword": []any{"a codeword", 17.0, true}, "n": 4111111111111111.0})
	if err != nil {
		panic(err)
	}
	return &registryv1.Completed{Result: &turnv1.ToolResult{StructuredContent: structured, Content: []*turnv1.ContentPart{
		{Part: &turnv1.ContentPart_Text{Text: "the codeword is x"}},
		{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: "https://x/codeword", Name: "codeword", MediaType: "text/codeword"}}},
		{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "text/csv; x=codeword", Data: []byte("codeword;1")}}},
		{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: []byte("\xff\xfe\x00codeword")}}},
	}}}
}

func TestResultsAreRedacted(t *testing.T) {
	w := steptest.Shielded(t, "result-redact-codeword", "result-redact-4111111111111111")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Tool(answers(rich))
	w.Walk()
	got := w.Result().GetResult()
	if text := got.GetContent()[0].GetText(); text != "the *** is x" {
		t.Errorf("text %q", text)
	}
	if l := got.GetContent()[1].GetLink(); l.GetUri() != "https://x/***" || l.GetName() != "***" ||
		l.GetMediaType() != "application/octet-stream" {
		t.Errorf("link %v", l)
	}
	csv, png := got.GetContent()[2].GetBlob().GetMediaType(), got.GetContent()[3].GetBlob().GetMediaType()
	if csv != "application/octet-stream" || png != "image/png" {
		t.Errorf("media types %s, %s", csv, png)
	}
	if csv, png := got.GetContent()[2].GetBlob().GetData(), got.GetContent()[3].GetBlob().GetData(); string(csv) != "***;1" || len(png) != 11 {
		t.Errorf("bytes %q %q", csv, png)
	}
	if s := fmt.Sprint(got.GetStructuredContent().AsInterface()); s != "map[***:[a *** 17 true] n:***]" {
		t.Errorf("structured %s", s)
	}
	if got.GetIsError() || w.Result().GetCode() != "" {
		t.Errorf("completed %v", w.Result())
	}
	want := "tool-1.0 result-redact-codeword result redact own-0-0 word, tool-1.0 result-redact-4111111111111111 result redact own-0-0 word"
	if w.Triggered() != want {
		t.Errorf("triggered %q", w.Triggered())
	}
	last := w.Asked()[1].GetMessages()
	if seen := last[len(last)-1].GetToolResult(); seen.GetContent()[0].GetText() != "the *** is x" {
		t.Errorf("the model sees %v", seen)
	}
}

func TestWhatIsKeptBesideAResultIsRedacted(t *testing.T) {
	w := steptest.Shielded(t, "result-redact-codeword")
	w.Model(turntest.CallTools("x__echo", 1))
	w.Tool(answers(long))
	w.Walk()
	kept := w.Journal.Artifacts(in.TurnID)
	if len(kept) != 1 || strings.Contains(string(kept[0].GetData()), "codeword") || !strings.Contains(string(kept[0].GetData()), "***") {
		t.Fatalf("kept %v", kept)
	}
	got := w.Result().GetResult()
	if want := contract.Preview(string(kept[0].GetData()), 400, "art_1"); got.GetContent()[0].GetText() != want ||
		strings.Contains(want, "code") {
		t.Errorf("shown %q, want %q", got.GetContent()[0].GetText(), want)
	}
	if !got.GetTruncated() || len(got.GetArtifactIds()) != 1 || kept[0].GetMediaType() != "application/octet-stream" {
		t.Errorf("result %v, kept as %s", got, kept[0].GetMediaType())
	}
}

func TestBlockedResultsAreWithheldWithAllThatIsBeside(t *testing.T) {
	for name, result := range map[string]func() *registryv1.Completed{"in the conversation": rich, "beside it": long} {
		t.Run(name, func(t *testing.T) {
			w := steptest.Shielded(t, "result-block-codeword", "result-redact-x")
			w.Model(turntest.CallTools("x__echo", 1))
			w.Tool(answers(result))
			w.Walk()
			got := w.Result()
			if !got.GetResult().GetIsError() || got.GetCode() != "shield_blocked" || len(got.GetResult().GetContent()) != 1 ||
				got.GetResult().GetStructuredContent() != nil || len(got.GetResult().GetArtifactIds()) > 0 {
				t.Errorf("completed %v", got)
			}
			if text := got.GetResult().GetContent()[0].GetText(); !strings.Contains(text, `withheld: shield "result-block-codeword" blocks it`) {
				t.Errorf("the model is told %q", text)
			}
			if kept := w.Journal.Artifacts(in.TurnID); len(kept) > 0 {
				t.Errorf("kept %v", kept)
			}
			if all := fmt.Sprint(w.Journal.Events(in.TurnID), w.Journal.Messages(in.TurnID)); strings.Contains(all, "the codeword") ||
				len(w.Called()) != 1 {
				t.Errorf("it is in the journal, or the tool was called %d times", len(w.Called()))
			}
		})
	}
}

// TestResultsThatTheRegistryDoesNotGive come from the turn's client, and from the turn that is run again.
func TestResultsThatTheRegistryDoesNotGive(t *testing.T) {
	t.Run("of a client", func(t *testing.T) {
		w := steptest.New(t, &sessionsv1.Agent{Shields: []string{"result-redact-blue"}})
		w.Journal.ClientTools(in.TurnID, &sessionsv1.ClientTool{Name: "pick"})
		w.Model(turntest.CallTools("client__pick", 1))
		w.MustWait(1)
		w.Answer("tool-1.0", turnv1.Verdict_VERDICT_ANSWERED, func(w *executionv1.Wait) { w.Result = steptest.Said("blue") })
		w.Advance()
		if got := w.Result().GetResult(); got.GetContent()[0].GetText() != "***" {
			t.Errorf("result %v", got)
		}
	})
	t.Run("recorded", func(t *testing.T) {
		w := steptest.Shielded(t, "result-redact-then")
		w.Journal.Rerun(in.TurnID, &turnv1.TurnRerun{OfTurn: "trn_0", Tools: contract.ToolsRecorded, Missing: contract.MissingFail},
			map[string]*turnv1.ToolResult{"own-0-0": steptest.Said("as then")})
		w.Model(turntest.CallTools("x__echo", 1))
		w.Walk()
		if got := w.Result(); got.GetResult().GetContent()[0].GetText() != "as ***" || !got.GetRecorded() {
			t.Errorf("completed %v", got)
		}
	})
}

func TestAResultWaitsForItsCheck(t *testing.T) {
	w := steptest.Shielded(t, "result-block-nope")
	w.Model(turntest.CallTools("x__echo", 1))
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
	w.Fail("CheckText", status.Error(codes.Unavailable, "away"))
	_, err := w.Runner.Do(t.Context(), in, ref)
	if _, again := errors.AsType[*step.RetryError](err); !again {
		t.Fatalf("a result without its check: %v", err)
	}
	for _, e := range w.Journal.Events(in.TurnID) {
		if e.GetToolCallCompleted() != nil {
			t.Errorf("it was told all the same: %v", e)
		}
	}
	if out := w.Do(ref); out.GetIsError() || len(w.Called()) != 2 || w.Called()[0].GetKey() != w.Called()[1].GetKey() {
		t.Errorf("the next attempt: %v, called %v", out, w.Called())
	}
}

func TestProgressSaysNothingWhereResultsAreChecked(t *testing.T) {
	for shield, want := range map[string]string{"result-block-nope": "", "output-block-nope": "half"} {
		w := steptest.Shielded(t, shield)
		w.Model(turntest.CallTools("x__echo", 1))
		w.Tool(func(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
			err := stream.Send(&registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Progress{Progress: &registryv1.Progress{
				Progress: 1, Total: 2, Message: "half",
			}}})
			return errors.Join(err, turntest.Echo(req, stream))
		})
		ref := w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
		sub := w.Transient()
		w.Do(ref)
		if got := w.Next(sub).GetToolCallProgress(); got.GetTotal() != 2 || got.GetMessage() != want {
			t.Errorf("%s: progress %v, want the message %q", shield, got, want)
		}
	}
}
